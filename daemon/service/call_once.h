// A change of the registry may fail first and become durable later; its caller is told once.
#pragma once

#include <functional>
#include <memory>
#include <utility>

namespace shmbloom {

// Calls `function` at its first call and never again.
template <typename... Arguments>
std::function<void(Arguments...)> once(std::function<void(Arguments...)> function) {
    return [held = std::make_shared<std::function<void(Arguments...)>>(std::move(function))](Arguments... arguments) {
        if (const auto first = std::exchange(*held, nullptr))
            first(std::move(arguments)...);
    };
}

} // namespace shmbloom
