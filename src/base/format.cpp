// The one file that compiles fmt: what fmt's own src/format.cc instantiates, as far as char needs it. Debian has fmt
// as a shared library only, and fmt's header-only mode would compile all of fmt in every file. It knows no locales,
// so that none of their code is linked.
#define FMT_STATIC_THOUSANDS_SEPARATOR ','
#include <rdmanet/base/format.hpp>

#include <fmt/format-inl.h>

FMT_BEGIN_NAMESPACE
namespace detail {

template auto dragonbox::to_decimal(float) noexcept -> dragonbox::decimal_fp<float>;
template auto dragonbox::to_decimal(double) noexcept -> dragonbox::decimal_fp<double>;
template auto thousands_sep_impl(locale_ref) -> thousands_sep_result<char>;
template auto decimal_point_impl(locale_ref) -> char;
template void buffer<char>::append(const char*, const char*);
template void vformat_to(buffer<char>&, string_view, basic_format_args<format_context>, locale_ref);

} // namespace detail
FMT_END_NAMESPACE

namespace rdmanet::base {

fmt::appender write_text(fmt::appender out, std::string_view text) {
    return fmt::format_to(out, "{}", text);
}

} // namespace rdmanet::base
