// The errors that end an operation. Expected outcomes (absent, taken, exhausted) are return values, never errors.
#pragma once

#include <exception>
#include <string>
#include <string_view>
#include <utility>

namespace rdmanet::base {

/// Text for a person: operation first, values quoted, lower case, no final period, and the fix where there is one.
class Error : public std::exception {
public:
    explicit Error(std::string message) : message_(std::move(message)) {}

    [[nodiscard]] const char* what() const noexcept override { return message_.c_str(); }

    /// Puts "context: " in front of the message; see in_context().
    void add_context(std::string_view context);
    /// Puts "; remark" behind the message.
    void add_remark(std::string_view remark);

private:
    std::string message_;
};

/// A system call, sysfs or sysctl access that the kernel refused.
class SystemError : public Error {
public:
    /// `operation` says what was tried; the text for `errno_value` is appended.
    SystemError(std::string_view operation, int errno_value);

    [[nodiscard]] int errno_value() const noexcept { return errno_value_; }

private:
    int errno_value_;
};

/// A wait that reached its deadline. The message names what the wait was for and, if known, who holds it.
class TimeoutError : public Error {
public:
    using Error::Error;
};

/// Runs `act`. An Error that leaves it gets "context: " in front and keeps its type.
template <class Act>
decltype(auto) in_context(std::string_view context, Act&& act) {
    try {
        return std::forward<Act>(act)();
    } catch (Error& error) {
        error.add_context(context);
        throw;
    }
}

/// Whether an errno value says that the process or the node has too few descriptors, locks or memory. The same call may
/// succeed later.
[[nodiscard]] bool is_shortage(int errno_value);

/// The C library's text for an errno value, in lower case ("device or resource busy").
[[nodiscard]] std::string errno_text(int errno_value);

} // namespace rdmanet::base
