// A matcher of texts that have several parts.
#pragma once

#include "support/catch.hpp"

#include <algorithm>
#include <string>
#include <vector>

namespace rdmanet::test {

/// Matches a text that has all of these parts, in any order.
class Has : public Catch::MatcherBase<std::string> {
public:
    template <typename... Parts>
    explicit Has(const Parts&... parts) : parts_{std::string(parts)...} {}

    bool match(const std::string& text) const override {
        return std::all_of(parts_.begin(), parts_.end(),
                           [&](const std::string& part) { return text.find(part) != std::string::npos; });
    }
    [[nodiscard]] std::string describe() const override {
        std::string text = "has";
        for (const std::string& part : parts_) text += ' ' + Catch::StringMaker<std::string>::convert(part);
        return text;
    }

private:
    std::vector<std::string> parts_;
};

} // namespace rdmanet::test
