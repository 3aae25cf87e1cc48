#include <exception>

#include "service/once.h"
#include "service/options.h"
#include "service/service.h"
#include "sys/log.h"
#include "sys/os_error.h"

// Exit status: 0 done, 1 the machine refused, 78 (EX_CONFIG) something must be set right before another start.
int main(int argc, char **argv) {
    try {
        const auto options = shmbloom::parse_options(argc, argv);
        if (!options)
            return 0;
        shmbloom::log::set_level(options->log_level);
        return options->once.empty() ? shmbloom::serve(*options) : shmbloom::do_once(*options);
    } catch (const shmbloom::Refusal &refusal) {
        shmbloom::log::critical(refusal.what());
        return 78;
    } catch (const std::exception &error) {
        shmbloom::log::critical(error.what());
        return 1;
    }
}
