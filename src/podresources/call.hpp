// One call of gRPC without a request's content (grpc, doc/PROTOCOL-HTTP2.md), over a Unix socket.
#pragma once

#include <rdmanet/base/deadline.hpp>

#include <string>
#include <string_view>

namespace rdmanet::podresources {

/// The answer's message, of 16 MiB at most: as much as Multus takes. Throws CallError.
[[nodiscard]] std::string call(const std::string& socket, std::string_view method, const base::Deadline& deadline);

} // namespace rdmanet::podresources
