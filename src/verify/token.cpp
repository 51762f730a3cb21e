#include <rdmanet/verify/meeting.hpp>

#include <rdmanet/base/error.hpp>
#include <rdmanet/base/format.hpp>

#include <sys/random.h>

#include <cerrno>

namespace rdmanet::verify {

std::string make_token() {
    unsigned char bytes[8];
    if (::getrandom(bytes, sizeof bytes, 0) != sizeof bytes) throw base::SystemError("make a token", errno);
    std::string text;
    for (const unsigned char byte : bytes) text += fmt::format("{:02x}", byte);
    return text;
}

bool is_same_token(std::string_view given, std::string_view token) {
    if (given.size() != token.size()) return false;
    unsigned difference = 0;
    for (std::size_t at = 0; at < token.size(); ++at)
        difference |= static_cast<unsigned char>(given[at]) ^ static_cast<unsigned char>(token[at]);
    // The compiler must not end the loop early.
    return *const_cast<const volatile unsigned*>(&difference) == 0;
}

} // namespace rdmanet::verify
