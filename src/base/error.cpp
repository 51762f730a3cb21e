#include <rdmanet/base/error.hpp>

#include <rdmanet/base/format.hpp>
#include <rdmanet/base/text.hpp>

#include <cerrno>
#include <cstring>

namespace rdmanet::base {

void Error::add_context(std::string_view context) {
    message_ = fmt::format("{}: {}", context, message_);
}

void Error::add_remark(std::string_view remark) {
    message_ = fmt::format("{}; {}", message_, remark);
}

SystemError::SystemError(std::string_view operation, int errno_value)
    : Error(fmt::format("{}: {}", operation, errno_text(errno_value))), errno_value_(errno_value) {}

bool is_shortage(int errno_value) {
    return errno_value == EMFILE || errno_value == ENFILE || errno_value == ENOMEM || errno_value == ENOLCK;
}

std::string errno_text(int errno_value) {
    const char* description = strerrordesc_np(errno_value);
    if (description == nullptr) return fmt::format("error {}", errno_value);
    std::string text(description);
    // The C library's texts begin a sentence, ours continue one: "Device or resource busy" is lowered, "RFS ..." is
    // not.
    if (text.size() > 1 && text[1] >= 'a' && text[1] <= 'z') text[0] = to_lower(text.substr(0, 1))[0];
    return text;
}

} // namespace rdmanet::base
