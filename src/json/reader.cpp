#include <rdmanet/json/reader.hpp>

#include <rdmanet/base/format.hpp>
#include <rdmanet/base/text.hpp>

#include <nlohmann/json.hpp>

#include <strings.h>

#include <utility>

namespace rdmanet::json {

using Node = nlohmann::json;

struct Document::Content {
    Node root;
};

namespace {

constexpr int kDeepest = 64; // nlohmann prints recursively; the deepest configuration in the field has about ten levels

const Node& as_node(const void* node) {
    return *static_cast<const Node*>(node);
}

std::string_view type_name(const Node& node) {
    switch (node.type()) {
    case Node::value_t::null: return "null";
    case Node::value_t::object: return "an object";
    case Node::value_t::array: return "an array";
    case Node::value_t::string: return "a string";
    case Node::value_t::boolean: return "a boolean";
    default: return "a number";
    }
}

std::string member_path(const std::string& parent, std::string_view key) {
    return parent.empty() ? std::string(key) : fmt::format("{}.{}", parent, key);
}

/// `ours` has no zero byte, at which strncasecmp() ends.
bool is_same_word(std::string_view theirs, std::string_view ours) {
    return theirs.size() == ours.size() && ::strncasecmp(theirs.data(), ours.data(), ours.size()) == 0;
}

std::string to_json(const Node& node) {
    return node.dump(-1, ' ', false, Node::error_handler_t::replace);
}

/// Counts brackets before parsing. A callback of nlohmann's parser could count, too, but with one the parser visits
/// all earlier siblings after each object, and 100000 of them take minutes.
void expect_shallow(std::string_view text) {
    int depth = 0;
    bool in_string = false;
    for (std::size_t at = 0; at < text.size(); ++at) {
        const char c = text[at];
        if (c == '"') in_string = !in_string;
        if (in_string && c == '\\') ++at;
        if (in_string) continue;
        if (c == ']' || c == '}') --depth;
        if ((c == '[' || c == '{') && ++depth > kDeepest)
            throw ParseError(fmt::format("nested deeper than {} levels", kDeepest));
    }
}

/// "parse error at line 1, column 7: ..." out of "[json.exception.parse_error.101] parse error at ...".
std::string without_library_prefix(std::string_view message) {
    const auto bracket = message.find("] ");
    return std::string(bracket == std::string_view::npos ? message : message.substr(bracket + 2));
}

} // namespace

ValueError::ValueError(std::string path, const std::string& reason)
    : Error(path.empty() ? reason : fmt::format("{}: {}", path, reason)), path_(std::move(path)) {}

Document Document::parse(std::string_view text) {
    expect_shallow(text);
    try {
        return Document(std::make_shared<const Content>(Content{Node::parse(text)}));
    } catch (const Node::exception& error) {
        throw ParseError(without_library_prefix(error.what()));
    }
}

Reader Document::root() const {
    return {&content_->root, ""};
}

std::optional<Reader> Reader::find(std::string_view key) const {
    auto member = find_or_null(key);
    if (member && member->is_null()) return std::nullopt;
    return member;
}

std::optional<Reader> Reader::find_or_null(std::string_view key) const {
    expect_object();
    const Node& node = as_node(node_);
    const Node* found = nullptr;
    if (const auto exact = node.find(std::string(key)); exact != node.end()) {
        found = &*exact;
    } else {
        for (const auto& [name, value] : node.items())
            if (is_same_word(name, key)) found = &value;
    }
    if (found == nullptr) return std::nullopt;
    return Reader(found, member_path(path_, key));
}

std::optional<Reader> Reader::find_filled(std::string_view key) const {
    auto member = find(key);
    return member && member->is_empty_text() ? std::nullopt : member;
}

Reader Reader::at(std::string_view key) const {
    auto member = find(key);
    if (!member) throw ValueError(path_, fmt::format("missing required key \"{}\"", key));
    return *std::move(member);
}

std::string Reader::string() const {
    const Node& node = as_node(node_);
    if (!node.is_string()) throw unexpected("a string");
    return node.get<std::string>();
}

bool Reader::boolean() const {
    const Node& node = as_node(node_);
    if (!node.is_boolean()) throw unexpected("true or false");
    return node.get<bool>();
}

std::int64_t Reader::integer(std::int64_t least, std::int64_t most) const {
    const Node& node = as_node(node_);
    const std::string expected = fmt::format("a whole number from {} to {}", least, most);
    // nlohmann's get<>() converts between signs and truncates fractions silently: look at the stored type first.
    if (!node.is_number_integer()) throw unexpected(expected);
    if (node.is_number_unsigned() && node.get<std::uint64_t>() > static_cast<std::uint64_t>(INT64_MAX))
        throw unexpected(expected);
    const auto number = node.get<std::int64_t>();
    if (number < least || number > most) throw unexpected(expected);
    return number;
}

std::vector<Reader> Reader::elements() const {
    const Node& node = as_node(node_);
    if (!node.is_array()) throw unexpected("an array");
    std::vector<Reader> readers;
    readers.reserve(node.size());
    for (const Node& element : node) readers.push_back(Reader(&element, fmt::format("{}[{}]", path_, readers.size())));
    return readers;
}

std::vector<std::pair<std::string, Reader>> Reader::members() const {
    expect_object();
    std::vector<std::pair<std::string, Reader>> readers;
    for (const auto& [name, value] : as_node(node_).items())
        if (!value.is_null()) readers.emplace_back(name, Reader(&value, member_path(path_, name)));
    return readers;
}

bool Reader::is_null() const {
    return as_node(node_).is_null();
}
bool Reader::is_string() const {
    return as_node(node_).is_string();
}
bool Reader::is_empty_text() const {
    return is_word("");
}
bool Reader::is_word(std::string_view word) const {
    const auto* text = as_node(node_).get_ptr<const Node::string_t*>();
    return text != nullptr && is_same_word(*text, word);
}
bool Reader::is_boolean() const {
    return as_node(node_).is_boolean();
}
bool Reader::is_object() const {
    return as_node(node_).is_object();
}
bool Reader::is_array() const {
    return as_node(node_).is_array();
}

void Reader::expect_object() const {
    if (!is_object()) throw unexpected("an object");
}

std::string Reader::shown() const {
    return base::shortened(to_text(), 120);
}

std::string Reader::to_text() const {
    return to_json(as_node(node_));
}

ValueError Reader::not_one_of(const std::vector<std::string_view>& words) const {
    const auto quote = [](std::string_view word) { return base::quoted(word); };
    return unexpected(fmt::format("one of {}", base::join(words, ", ", quote)));
}

ValueError Reader::unexpected(std::string_view expected, std::string_view fix) const {
    const Node& node = as_node(node_);
    const bool type_says_it = node.is_null() || node.is_object() || node.is_array();
    return {path_, fmt::format("expected {}, found {}{}{}", expected,
                               type_says_it ? std::string(type_name(node)) : shown(), fix.empty() ? "" : ": ", fix)};
}

} // namespace rdmanet::json
