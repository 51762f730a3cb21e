// Errors as a container runtime receives them.
#pragma once

#include <rdmanet/base/error.hpp>

#include <string>
#include <string_view>
#include <utility>

namespace rdmanet::cni {

/// 1 to 99 are the specification's ("Error" in section 5; 8 is the Go library's). 100 and above are rdmanet's.
enum class ErrorCode : int {
    incompatible_version = 1,
    unsupported_field = 2,
    unknown_container = 3,
    invalid_environment = 4,
    io_failure = 5,
    undecodable = 6,
    invalid_network_config = 7,
    invalid_netns = 8, // the plugin's own namespace
    try_again_later = 11,
    plugin_not_available = 50,

    kernel_refused = 100,
    name_taken = 101,          // an interface with that name is in the pod
    parent = 102,              // absent, down, or cannot have such a child
    rdma = 103,                // no RDMA device, wrong namespace mode, no GID
    addresses_exhausted = 104, // no free address in a range
    address_taken = 105,       // a requested address belongs to someone else
    delegate = 106,            // another plugin could not be run, or printed no CNI document
    check_failed = 107,        // CHECK found a difference
    still_held = 108,          // DEL or GC could not undo everything
    state = 109,               // the state directory cannot be used
    internal = 999,
};

class CniError : public base::Error {
public:
    CniError(ErrorCode code, std::string message, std::string details = {})
        : CniError(static_cast<int>(code), std::move(message), std::move(details)) {}
    /// A delegate's error keeps its own code.
    CniError(int code, std::string message, std::string details)
        : Error(std::move(message)), code_(code), details_(std::move(details)) {}

    [[nodiscard]] int code() const noexcept { return code_; }
    [[nodiscard]] const std::string& details() const noexcept { return details_; }

private:
    int code_;
    std::string details_;
};

/// Another plugin ran to its end and reported its failure with an error document.
class PluginError : public CniError {
public:
    using CniError::CniError;
};

/// `text` for the error of a DEL. go-cni (Remove() in cni.go) takes a DEL as done, and never repeats it, if the error
/// has the words "not found" or "no such file or directory". Texts of delegates and of the kernel may have them.
[[nodiscard]] std::string text_of_del(std::string_view text);

/// The error document. Empty details are left out.
[[nodiscard]] std::string format_error(std::string_view cni_version, int code, std::string_view message,
                                       std::string_view details);

} // namespace rdmanet::cni
