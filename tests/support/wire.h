// The daemon's socket, spoken to as bytes: for commands that neither library nor tool would send.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace shmbloom::test {

class Wire {
  public:
    explicit Wire(const std::string &runtime_dir); // throws std::runtime_error when nobody listens
    ~Wire();
    Wire(Wire &&other) noexcept;
    Wire(const Wire &) = delete;
    Wire &operator=(const Wire &) = delete;

    struct Reply {
        char type = 0; // + - : $ *
        bool null = false;
        std::string text; // of + - : $
        std::vector<Reply> elements;

        bool is_error() const { return type == '-'; }
        std::string word() const { return is_error() ? text.substr(0, text.find(' ')) : ""; } // of an error
        std::map<std::string, std::string> fields() const; // of a flat array of name, value; without nulls
    };

    void send(const std::vector<std::string_view> &command);
    Reply receive(); // throws std::runtime_error at the end of the connection
    Reply call(const std::vector<std::string_view> &command);

    // SB.ADDH for keys by number: their hashes are made up, nobody looks them up.
    Reply add(const std::string &name, const std::string &hash_domain, const std::vector<std::uint64_t> &hashes);

  private:
    char read_char();
    std::string read_line();

    int fd_ = -1;
    std::string buffer_;
    std::size_t at_ = 0;
};

} // namespace shmbloom::test
