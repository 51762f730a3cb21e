// The name of a network interface, valid for the kernel.
#pragma once

#include <compare>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace rdmanet::base {

class InterfaceName {
public:
    /// The kernel's rules (net/core/dev.c, dev_valid_name): 1 to 15 bytes, not "." or "..", no '/', ':' or white
    /// space. "all" and "default" are refused because they are directories of sysctls, and '%' because the kernel
    /// replaces "net%d" by the next free name (dev_alloc_name). The name must be printable UTF-8, because it goes
    /// into JSON and messages.
    [[nodiscard]] static std::optional<InterfaceName> parse(std::string_view text);

    /// The rules of parse(), for messages.
    static constexpr std::string_view kRules =
        "1 to 15 bytes, no '/', ':', '%' or white space, not \".\", \"..\", \"all\" or \"default\"";

    [[nodiscard]] const std::string& to_string() const { return name_; }
    [[nodiscard]] const char* c_str() const { return name_.c_str(); }

    friend bool operator==(const InterfaceName&, const InterfaceName&) = default;
    friend auto operator<=>(const InterfaceName&, const InterfaceName&) = default;

private:
    explicit InterfaceName(std::string name) : name_(std::move(name)) {}
    std::string name_;
};

} // namespace rdmanet::base
