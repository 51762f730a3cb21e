#include <rdmanet/ops/colours.hpp>

#include <rdmanet/base/format.hpp>

namespace rdmanet::ops {
namespace {

unsigned number_of(Colour colour) {
    switch (colour) {
    case Colour::good: return 32;
    case Colour::doubtful: return 33;
    case Colour::bad: break;
    }
    return 31;
}

} // namespace

std::string painted(std::string_view text, Colour colour, Colours colours) {
    return colours == Colours::yes ? fmt::format("\033[1;{}m{}\033[0m", number_of(colour), text) : std::string(text);
}

} // namespace rdmanet::ops
