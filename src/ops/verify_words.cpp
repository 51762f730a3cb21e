#include "verify_words.hpp"

#include <rdmanet/base/format.hpp>
#include <rdmanet/ops/table.hpp>

#include <algorithm>
#include <string_view>

namespace rdmanet::ops {
namespace {

using verify::Scope;

std::string_view proves(Scope scope) {
    switch (scope) {
    case Scope::device:
        return "the device with itself: this proves the device, its driver and its GID, but no way to another pod";
    case Scope::node: return "two pods of one node: this does not prove the network between nodes";
    case Scope::network: break;
    }
    return "two nodes";
}

} // namespace

unsigned percent_of(double part, double whole) {
    constexpr double kHundred = 100;
    constexpr double kMost = 1e6; // the other end says what it likes
    return whole > 0 ? static_cast<unsigned>(std::clamp(part * kHundred / whole, 0.0, kMost)) : 0;
}

std::string sentence_of(const verify::Report& report) {
    if (report.verdict() == verify::Verdict::failed) {
        const std::string with = report.peer ? fmt::format(" with {}", printable(report.peer->to_string())) : "";
        return fmt::format("RDMA of {}{} does not work", printable(report.here.to_string()), with);
    }
    std::string text = fmt::format("RDMA works between {} and {} ({})", printable(report.here.to_string()),
                                   printable(report.peer->to_string()), proves(report.scope()));
    if (report.is_slow())
        text += fmt::format("; its bandwidth is {} % of the port's speed, expected {} %",
                            percent_of(report.bandwidth->rate, report.rate()), report.expected);
    return text;
}

std::string pkey_text(const verify::Endpoint& end) {
    return end.pkey ? fmt::format("{:#06x}", *end.pkey) : std::string();
}

} // namespace rdmanet::ops
