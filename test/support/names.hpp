// A test requires that a message names the code, the key, the value and the fix. The wording may change.
#pragma once

#include "support/catch.hpp"

#include <string>
#include <vector>

namespace rdmanet::test {

/// The last place of `thing` in `text` where it is not part of a longer word, number, address or key.
/// std::string::npos if there is none.
[[nodiscard]] std::size_t last_place(const std::string& text, const std::string& thing);

/// True if `text` has `thing`. If `thing` ends with "...", only its beginning must match.
[[nodiscard]] bool names(const std::string& text, const std::string& thing);

/// Matches a text that names all of these things, in any order.
class Names : public Catch::MatcherBase<std::string> {
public:
    template <typename... Things>
    explicit Names(const Things&... things) : things_{std::string(things)...} {}

    bool match(const std::string& text) const override;
    [[nodiscard]] std::string describe() const override;

private:
    std::vector<std::string> things_;
};

} // namespace rdmanet::test
