// Shapes of an SVG picture (https://www.w3.org/TR/SVG11/).
#pragma once

#include <string>
#include <string_view>

namespace rdmanet::ops {

struct Box {
    int x = 0;
    int y = 0;
    int width = 0;
    int height = 0;
};

class Svg {
public:
    /// `style` names a class of the style sheet, which follows the reader's light or dark colours. `hint` shows when the
    /// pointer is on the box.
    void box(const Box& box, std::string_view style, const std::string& hint = {});
    /// `y` is the base line. What is wider than `width` is cut.
    void text(int x, int y, int width, const std::string& text, std::string_view style = "name");
    void dot(int x, int y, std::string_view style, const std::string& hint);

    /// On top of what is there.
    void append(const Svg& other) { shapes_ += other.shapes_; }

    [[nodiscard]] std::string to_text(int width, int height, const std::string& title) const;

private:
    std::string shapes_;
};

} // namespace rdmanet::ops
