#include "svg.hpp"

#include <rdmanet/base/format.hpp>

namespace rdmanet::ops {
namespace {

constexpr std::string_view kStyle = R"(
  svg { --paper: #ffffff; --ink: #1f2430; --soft: #667085; --line: #d0d5dd; --band: #f4f5f7; --card: #ffffff;
        --used: #dbeafe; --good: #16a34a; --bad: #dc2626; --none: #98a2b3; background: var(--paper);
        font-family: system-ui, sans-serif; }
  @media (prefers-color-scheme: dark) {
    svg { --paper: #14171f; --ink: #e6e9ef; --soft: #98a2b3; --line: #3a4152; --band: #1b202b; --card: #222836;
          --used: #1e3a66; }
  }
  rect { stroke: var(--line); rx: 5px; }
  .band { fill: var(--band); } .switch { fill: none; stroke-dasharray: 4 3; } .card, .free { fill: var(--card); }
  .used { fill: var(--used); }
  text { fill: var(--ink); font-size: 12px; } .title { font-size: 18px; font-weight: 600; }
  .head { font-weight: 600; font-size: 13px; } .note { fill: var(--soft); font-size: 11px; }
  circle { stroke: none; } .good { fill: var(--good); } .bad { fill: var(--bad); } .none { fill: var(--none); }
)";

std::string escaped(std::string_view text) {
    std::string out;
    for (const char c : text) switch (c) {
        case '&': out += "&amp;"; break;
        case '<': out += "&lt;"; break;
        case '>': out += "&gt;"; break;
        case '"': out += "&quot;"; break;
        default: out += c;
        }
    return out;
}

/// At a byte that begins a character (RFC 3629). Letters of 12 pixels are 7 wide on average, those of notes 6.
std::string cut(const std::string& text, int width, std::string_view style) {
    std::size_t most = static_cast<std::size_t>(width / (style == "note" ? 6 : 7));
    if (text.size() <= most) return text;
    while (most > 0 && (static_cast<unsigned char>(text[most]) & 0xc0U) == 0x80U) --most;
    return text.substr(0, most) + "…";
}

std::string title_of(const std::string& hint) {
    return hint.empty() ? std::string() : fmt::format("<title>{}</title>", escaped(hint));
}

} // namespace

void Svg::box(const Box& box, std::string_view style, const std::string& hint) {
    shapes_ += fmt::format("<rect class=\"{}\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\">{}</rect>\n", style, box.x,
                           box.y, box.width, box.height, title_of(hint));
}

void Svg::text(int x, int y, int width, const std::string& text, std::string_view style) {
    shapes_ +=
        fmt::format("<text class=\"{}\" x=\"{}\" y=\"{}\">{}</text>\n", style, x, y, escaped(cut(text, width, style)));
}

void Svg::dot(int x, int y, std::string_view style, const std::string& hint) {
    shapes_ +=
        fmt::format("<circle class=\"{}\" cx=\"{}\" cy=\"{}\" r=\"5\">{}</circle>\n", style, x, y, title_of(hint));
}

std::string Svg::to_text(int width, int height, const std::string& title) const {
    return fmt::format("<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" "
                       "height=\"{1}\">\n<title>{2}</title>\n<style>{3}</style>\n{4}</svg>\n",
                       width, height, escaped(title), kStyle, shapes_);
}

} // namespace rdmanet::ops
