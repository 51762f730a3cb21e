#include "inventory_text.hpp"

#include <rdmanet/base/format.hpp>
#include <rdmanet/base/text.hpp>
#include <rdmanet/ops/inventory_report.hpp>
#include <rdmanet/ops/table.hpp>

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace rdmanet::ops {
namespace {

using inventory::Device;
using inventory::Inventory;
using inventory::RdmaDevice;

struct Box {
    int x = 0;
    int y = 0;
    int width = 0;
    int height = 0;
};

/// Shapes of an SVG picture (https://www.w3.org/TR/SVG11/).
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

constexpr int kWidth = 1200;
constexpr int kGap = 12;
constexpr int kLine = 18;
constexpr int kCellHeight = 40;
constexpr int kCellsInRow = 4;
constexpr int kColumns = 2;
constexpr int kColumnWidth = (kWidth - (kColumns + 1) * kGap) / kColumns;
constexpr int kBandHead = 26;
constexpr int kCardHead = 50;

/// A VF, a sub-function or a child in a pod, which a card shows as a cell.
struct Cell {
    std::string name;
    std::string who; // the pod; empty if it is free
    std::string hint;
};

/// A PF or another function, with what belongs to it.
struct Card {
    const Device* device = nullptr;
    std::vector<Cell> cells;
};

/// What is behind one upstream port of a PCIe switch, or directly behind the host bridge.
struct Group {
    std::string name; // of the upstream port; empty without a switch
    std::vector<Card> cards;
    std::vector<std::string> accelerators;
};

using Bands = std::map<std::string, std::map<std::string, Group>>; // by host bridge, then by switch

int rows_of(std::size_t count, int in_row) {
    return (static_cast<int>(count) + in_row - 1) / in_row;
}

std::pair<std::string, std::string> where_is(const inventory::PciFunction& function) {
    const auto& path = function.path;
    return {path.empty() ? "PCI" : path[0], path.size() > 2 ? path[2] : std::string()};
}

std::string style_of(const std::vector<RdmaDevice>& devices) {
    if (devices.empty()) return "none";
    const auto is_active = [](const RdmaDevice& device) {
        return std::ranges::any_of(
            device.ports, [](const inventory::RdmaPort& port) { return port.state == kernel::PortState::active; });
    };
    return std::ranges::any_of(devices, is_active) ? "good" : "bad";
}

std::string rdma_text(const std::vector<RdmaDevice>& devices) {
    if (devices.empty()) return "no RDMA device";
    std::vector<std::string> texts;
    for (const RdmaDevice& device : devices)
        for (const inventory::RdmaPort& port : device.ports)
            texts.push_back(fmt::format("{}:{} {}", device.name, port.number, state_of(port)));
    return base::join(texts);
}

/// The first interface in a pod that the device has; else the name on the host.
Cell cell_of(const Inventory& inventory, const Device& device) {
    Cell cell{.name = device.parent ? name_of(device) : fmt::format("VF {}", device.pci->vf_number),
              .hint = fmt::format("{} {}", name_of(device), rdma_text(device.rdma))};
    for (const inventory::NetDevice& net : device.net) {
        cell.name += fmt::format(" · {}", net.name);
        if (net.place != 0) cell.who = place_name(inventory, net.place);
    }
    for (const RdmaDevice& rdma : device.rdma)
        if (rdma.place != 0 && cell.who.empty()) cell.who = place_name(inventory, rdma.place);
    return cell;
}

/// The pod's name without its namespace, which is in the hint.
std::string short_name(const std::string& who) {
    return who.starts_with('/') ? who : who.substr(who.find('/') + 1);
}

class Painter {
public:
    explicit Painter(const Inventory& inventory) : inventory_(inventory) {}

    std::string paint() {
        collect();
        const std::string title = fmt::format("RDMA on {}", inventory_.host);
        svg_.text(kGap, 28, kWidth, title, "title");
        svg_.text(kGap, 46, kWidth, fmt::format("Linux {}, {}", inventory_.kernel, mode_text()), "note");
        std::array<int, kColumns> ends; // of the columns
        ends.fill(60);
        for (const auto& [bridge, groups] : bands_) {
            const auto shortest = std::ranges::min_element(ends);
            const int x = kGap + static_cast<int>(shortest - ends.begin()) * (kColumnWidth + kGap);
            *shortest = paint_band(bridge, groups, x, *shortest);
        }
        return svg_.to_text(kWidth, *std::ranges::max_element(ends), title);
    }

private:
    [[nodiscard]] std::string mode_text() const {
        if (!inventory_.mode()) return "no RDMA";
        return *inventory_.mode() == kernel::RdmaNetnsMode::shared ? "RDMA mode shared" : "RDMA mode exclusive";
    }

    void collect() {
        for (const Device& device : inventory_.devices) {
            const bool is_part = device.parent || (device.pci && device.pci->pf);
            if (!is_part) group_of(device).cards.push_back({.device = &device, .cells = children_of(device)});
        }
        for (const Device& device : inventory_.devices) {
            const auto& owner = device.parent ? device.parent : device.pci ? device.pci->pf : std::nullopt;
            if (Card* const card = owner ? find_card(*owner) : nullptr)
                card->cells.push_back(cell_of(inventory_, device));
        }
        for (const inventory::PciFunction& other : inventory_.others) {
            const auto [bridge, upstream] = where_is(other);
            Group& group = bands_[bridge][upstream];
            group.name = upstream;
            group.accelerators.push_back(fmt::format("GPU {} ({})", other.address, other.id_text()));
        }
    }

    Group& group_of(const Device& device) {
        const auto [bridge, upstream] =
            device.pci ? where_is(*device.pci) : std::pair<std::string, std::string>("software", "");
        Group& group = bands_[bridge][upstream];
        group.name = upstream;
        return group;
    }

    /// Children of the function's interfaces in pods: their RDMA device stays on the host.
    [[nodiscard]] std::vector<Cell> children_of(const Device& device) const {
        std::vector<Cell> cells;
        for (const inventory::Interface& interface : inventory_.interfaces) {
            const bool is_child =
                !interface.parent.empty() && std::ranges::any_of(device.rdma, [&](const RdmaDevice& rdma) {
                    return rdma.place == 0 && rdma.name == interface.rdma_device;
                });
            if (is_child)
                cells.push_back({.name = fmt::format("{} · {}", interface.net.kind, interface.net.name),
                                 .who = place_name(inventory_, interface.net.place),
                                 .hint = fmt::format("child of {}", interface.parent)});
        }
        return cells;
    }

    Card* find_card(const base::PciAddress& address) {
        for (auto& [bridge, groups] : bands_)
            for (auto& [upstream, group] : groups)
                for (Card& card : group.cards)
                    if (card.device->pci && card.device->pci->address == address) return &card;
        return nullptr;
    }

    static int height_of(const Card& card) {
        return kCardHead + kLine + rows_of(card.cells.size(), kCellsInRow) * (kCellHeight + kGap / 2) + kGap / 2;
    }

    /// Returns where the next one may begin.
    int paint_band(const std::string& bridge, const std::map<std::string, Group>& groups, int x, int y) {
        int end = y + kBandHead;
        Svg content;
        std::swap(content, svg_); // the band's box comes first, and its height is known last
        for (const auto& [upstream, group] : groups) end = paint_group(group, x + kGap, end);
        std::swap(content, svg_);
        svg_.box({x, y, kColumnWidth, end - y}, "band");
        svg_.text(x + kGap, y + kLine, kColumnWidth - 2 * kGap, band_text(bridge), "head");
        svg_.append(content);
        return end + kGap;
    }

    [[nodiscard]] std::string band_text(const std::string& bridge) const {
        for (const Device& device : inventory_.devices)
            if (device.pci && device.pci->numa_node && where_is(*device.pci).first == bridge)
                return fmt::format("Host bridge {}, NUMA node {}", bridge, *device.pci->numa_node);
        return bridge == "software" ? "Software" : fmt::format("Host bridge {}", bridge);
    }

    int paint_group(const Group& group, int x, int y) {
        const int width = kColumnWidth - 2 * kGap;
        if (group.name.empty()) return paint_cards(group, x, y, width);
        Svg content;
        std::swap(content, svg_);
        const int end = paint_cards(group, x + kGap, y + kBandHead, width - 2 * kGap);
        std::swap(content, svg_);
        svg_.box({x, y, width, end - y}, "switch");
        svg_.text(x + kGap, y + kLine, width - 2 * kGap, fmt::format("PCIe switch {}", group.name), "note");
        svg_.append(content);
        return end + kGap;
    }

    int paint_cards(const Group& group, int x, int y, int width) {
        for (const Card& card : group.cards) {
            const int height = height_of(card);
            paint_card(card, {x, y, width, height});
            y += height + kGap;
        }
        for (const std::string& accelerator : group.accelerators) {
            svg_.box({x, y, width, kBandHead}, "card");
            svg_.text(x + kGap, y + kLine, width - 2 * kGap, accelerator);
            y += kBandHead + kGap;
        }
        return y;
    }

    void paint_card(const Card& card, const Box& box) {
        const Device& device = *card.device;
        const inventory::NetDevice* const net = device.net.empty() ? nullptr : &device.net.front();
        svg_.box(box, net != nullptr && net->place != 0 ? "used" : "card");
        svg_.dot(box.x + kGap + 2, box.y + 17, style_of(device.rdma), rdma_text(device.rdma));
        std::string head = !device.address && !device.rdma.empty() ? device.rdma.front().name : name_of(device);
        if (net != nullptr) head += fmt::format(" · {} {} {}", net->name, state_of(*net), speed_of(*net));
        svg_.text(box.x + 2 * kGap, box.y + 22, box.width - 3 * kGap, head, "head");
        svg_.text(box.x + 2 * kGap, box.y + 40, box.width - 3 * kGap,
                  fmt::format("{}{}{}", device.pci ? device.pci->driver + ", " : "", role_of(device),
                              net != nullptr && net->place != 0
                                  ? fmt::format(", in {}", place_name(inventory_, net->place))
                                  : std::string()),
                  "note");
        svg_.text(box.x + 2 * kGap, box.y + 40 + kLine, box.width - 3 * kGap, rdma_text(device.rdma), "note");
        paint_cells(card.cells, box);
    }

    void paint_cells(const std::vector<Cell>& cells, const Box& card) {
        const int gap = kGap / 2;
        const int width = (card.width - 2 * kGap - (kCellsInRow - 1) * gap) / kCellsInRow;
        for (std::size_t number = 0; number < cells.size(); ++number) {
            const Cell& cell = cells[number];
            const int column = static_cast<int>(number) % kCellsInRow;
            const int row = static_cast<int>(number) / kCellsInRow;
            const Box box{card.x + kGap + column * (width + gap),
                          card.y + kCardHead + kLine + row * (kCellHeight + gap), width, kCellHeight};
            svg_.box(box, cell.who.empty() ? "free" : "used",
                     cell.who.empty() ? cell.hint : fmt::format("{}, in {}", cell.hint, cell.who));
            svg_.text(box.x + gap, box.y + 16, width - 2 * gap, cell.name, "note");
            svg_.text(box.x + gap, box.y + 32, width - 2 * gap, cell.who.empty() ? "free" : short_name(cell.who),
                      cell.who.empty() ? "note" : "name");
        }
    }

    const Inventory& inventory_;
    Bands bands_;
    Svg svg_;
};

} // namespace

std::string to_svg(const Inventory& inventory) {
    return Painter(inventory).paint();
}

} // namespace rdmanet::ops
