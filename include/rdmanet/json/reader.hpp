// Reading JSON with paths: every failure says where it is, what was found and what was expected. Keys match without
// regard to case and the last duplicate wins, as in Go's decoder, which configurations in the field are written for.
// If keys differ only in case, the one with our spelling wins. null counts as absent.
#pragma once

#include <rdmanet/base/error.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace rdmanet::json {

/// The text is not JSON at all.
class ParseError : public base::Error {
public:
    using Error::Error;
};

/// A value has the wrong type or range. what() is "PATH: reason", the path in the form "ipam.ranges[0].start".
class ValueError : public base::Error {
public:
    ValueError(std::string path, const std::string& reason);
    [[nodiscard]] const std::string& path() const { return path_; }

private:
    std::string path_;
};

class Reader;

/// A word that a text may be, and what it stands for.
template <class T>
struct Choice {
    std::string_view word;
    T value;
};

/// A parsed document. Readers point into it and must not outlive it. Copies share the content.
class Document {
public:
    /// Throws ParseError with line and column, also for nesting deeper than 64 levels and for text that is not UTF-8.
    [[nodiscard]] static Document parse(std::string_view text);

    [[nodiscard]] Reader root() const;

    struct Content;

private:
    explicit Document(std::shared_ptr<const Content> content) : content_(std::move(content)) {}
    std::shared_ptr<const Content> content_;
};

/// A position in a document.
class Reader {
public:
    /// A member of this object. Throws ValueError if this is not an object.
    [[nodiscard]] std::optional<Reader> find(std::string_view key) const;
    /// As find(), but finds a member that is null.
    [[nodiscard]] std::optional<Reader> find_or_null(std::string_view key) const;
    /// As find(), but a member with an empty text counts as absent, as in the peers: programs that write configurations
    /// write empty texts.
    [[nodiscard]] std::optional<Reader> find_filled(std::string_view key) const;
    /// As find(), but an absent member throws ValueError ("missing required key").
    [[nodiscard]] Reader at(std::string_view key) const;

    [[nodiscard]] std::string string() const;
    [[nodiscard]] bool boolean() const;
    /// A whole number within [least, most].
    [[nodiscard]] std::int64_t integer(std::int64_t least, std::int64_t most) const;
    /// The value whose word this text is, in any case of letters. Otherwise a ValueError that lists the words.
    template <class T, std::size_t kCount>
    [[nodiscard]] T choose(const Choice<T> (&choices)[kCount]) const {
        std::vector<std::string_view> words;
        for (const auto& [word, value] : choices) {
            if (is_word(word)) return value;
            words.push_back(word);
        }
        throw not_one_of(words);
    }
    /// The same for a member, unless it is absent or an empty text.
    template <class T, std::size_t kCount>
    [[nodiscard]] std::optional<T> find_choice(std::string_view key, const Choice<T> (&choices)[kCount]) const {
        const auto member = find_filled(key);
        return member ? std::optional(member->choose(choices)) : std::nullopt;
    }
    [[nodiscard]] std::vector<Reader> elements() const;
    /// Members sorted by key, nulls left out.
    [[nodiscard]] std::vector<std::pair<std::string, Reader>> members() const;

    [[nodiscard]] bool is_null() const;
    [[nodiscard]] bool is_string() const;
    [[nodiscard]] bool is_empty_text() const;
    /// A text that is `word` in any case of letters.
    [[nodiscard]] bool is_word(std::string_view word) const;
    [[nodiscard]] bool is_boolean() const;
    [[nodiscard]] bool is_object() const;
    [[nodiscard]] bool is_array() const;

    /// Throws ValueError unless this is an object.
    void expect_object() const;

    /// "ipam.ranges[0].start"; empty at the top level.
    [[nodiscard]] const std::string& path() const { return path_; }
    /// The value as JSON, shortened for a message.
    [[nodiscard]] std::string shown() const;
    /// The value as JSON, compact and whole.
    [[nodiscard]] std::string to_text() const;
    /// ValueError for this place: "PATH: expected EXPECTED, found VALUE", and ": CURE" if there is one.
    [[nodiscard]] ValueError unexpected(std::string_view expected, std::string_view fix = {}) const;

private:
    friend class Document;
    [[nodiscard]] ValueError not_one_of(const std::vector<std::string_view>& words) const;
    Reader(const void* node, std::string path) : node_(node), path_(std::move(path)) {}

    const void* node_; // a nlohmann::json, which stays out of the headers: it takes seconds to compile
    std::string path_;
};

} // namespace rdmanet::json
