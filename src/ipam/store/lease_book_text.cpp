// The format of STATE_DIR/leases and STATE_DIR/blocks: a line for each row, fields with tabs between them.
//
//   rdmanet leases 1
//   file    INODE                                            of this file
//   lease   SPACE ADDRESS LENGTH SLOT NETWORK CONTAINER IFNAME POD_NAMESPACE POD_NAME POD_UID NETNS_PATH NETNS_COOKIE
//           NETNS_INODE PID_VIEW BOOT_ID SINCE COOLDOWN      by space and address
//   rest    SPACE ADDRESS UNTIL WHOSE                        by space and address
//   range   UID NAME SPACE SUBNET BLOCK_SIZE REQUESTABLE GONE_AFTER IS_GONE IS_FENCED HELD_BY KUBECONFIG NODE_NAME
//           IS_SCARCE                                        HELD_BY: with spaces between, which no name has
//   block   RANGE_UID SPACE PREFIX STATE UID VERSION NODE_UID BOOT_ID CONFIRMED SINCE HOLDER
//                                                            by space and address
//   end     HASH                                             of everything before this line
//
// A backslash and two hexadecimal digits stand for a control character and for the backslash itself.
#include "lease_book.hpp"

#include <rdmanet/base/format.hpp>
#include <rdmanet/base/text.hpp>
#include <rdmanet/ipam/block_cut.hpp>

#include <algorithm>
#include <bit>
#include <concepts>
#include <cstring>
#include <utility>

namespace rdmanet::ipam {
namespace {

constexpr std::string_view kHead = "rdmanet leases ";
constexpr int kVersion = 1;

class Writer {
public:
    explicit Writer(std::string& text, std::string_view kind) : text_(text) { text_ += kind; }
    Writer(const Writer&) = delete;
    Writer& operator=(const Writer&) = delete;
    ~Writer() { text_ += '\n'; }

    Writer& field(std::string_view value) {
        text_ += '\t';
        text_ += escaped(value);
        return *this;
    }
    template <std::integral Number>
    Writer& field(Number value) {
        return field(std::to_string(value));
    }

private:
    std::string& text_;
};

/// Takes the fields of one line, from the left.
class Fields {
public:
    explicit Fields(std::string_view line) : rest_(line) {}

    std::string_view raw() {
        if (is_at_end_) throw NotABook("a line has too few fields");
        const auto tab = rest_.find('\t');
        const std::string_view field = rest_.substr(0, tab);
        is_at_end_ = tab == std::string_view::npos;
        if (!is_at_end_) rest_.remove_prefix(tab + 1);
        return field;
    }
    std::string text() {
        const std::string_view field = raw();
        std::string value;
        for (std::size_t at = 0; at < field.size(); ++at) {
            if (field[at] != '\\') {
                value += field[at];
                continue;
            }
            const auto code = base::parse_integer<unsigned char>(field.substr(at + 1, 2), 16);
            if (!code) throw NotABook("a backslash stands for nothing");
            value += static_cast<char>(*code);
            at += 2;
        }
        return value;
    }
    template <class Number>
    Number number() {
        const auto value = base::parse_integer<Number>(raw());
        if (!value) throw NotABook("a field is no number");
        return *value;
    }
    void expect_end() const {
        if (!is_at_end_) throw NotABook("a line has too many fields");
    }

private:
    std::string_view rest_;
    bool is_at_end_ = false;
};

RestingAddress read_resting(Fields& fields) {
    std::string space = fields.text();
    const auto address = base::IpAddress::parse(fields.raw());
    if (!address) throw NotABook("what rests is no address");
    const auto until = fields.number<std::int64_t>();
    return {.space = std::move(space), .address = *address, .until = until, .whose = fields.number<std::uint64_t>()};
}

void write(const BlockRange& range, std::string& text) {
    Writer(text, "range")
        .field(range.uid)
        .field(range.name)
        .field(range.space)
        .field(range.subnet.to_string())
        .field(range.block_size)
        .field(range.requestable ? range.requestable->to_string() : "")
        .field(static_cast<std::int64_t>(range.gone_after.count()))
        .field(static_cast<int>(range.is_gone))
        .field(static_cast<int>(range.is_fenced))
        .field(base::join(range.held_by, " "))
        .field(range.kubeconfig)
        .field(range.node_name)
        .field(static_cast<int>(range.is_scarce));
}

base::IpPrefix read_prefix(Fields& fields) {
    const auto prefix = base::IpPrefix::parse(fields.raw());
    if (!prefix || prefix->has_host_bits()) throw NotABook("a range or block has no addresses");
    return *prefix;
}

std::vector<std::string> words_in(std::string_view text) {
    std::vector<std::string> words;
    while (!text.empty()) {
        const auto end = std::min(text.find(' '), text.size());
        words.emplace_back(text.substr(0, end));
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return words;
}

BlockRange read_range(Fields& fields) {
    const std::string uid = fields.text();
    const std::string name = fields.text();
    const std::string space = fields.text();
    BlockRange range{.uid = uid, .name = name, .space = space, .subnet = read_prefix(fields)};
    range.block_size = fields.number<unsigned>();
    if (!std::has_single_bit(range.block_size) || range.block_size > kMostBlockSize ||
        base::address_bits(range.subnet.family()) - range.subnet.length() > kMostHostBits)
        throw NotABook("a range cannot be cut into its blocks");
    if (const std::string requestable = fields.text(); !requestable.empty()) {
        range.requestable = base::IpPrefix::parse(requestable);
        if (!range.requestable) throw NotABook("the requestable part of a range has no addresses");
    }
    range.gone_after = std::chrono::seconds(fields.number<std::int64_t>());
    range.is_gone = fields.number<int>() != 0;
    range.is_fenced = fields.number<int>() != 0;
    range.held_by = words_in(fields.text());
    range.kubeconfig = fields.text();
    range.node_name = fields.text();
    range.is_scarce = fields.number<int>() != 0;
    return range;
}

void write(const Block& block, std::string& text) {
    Writer(text, "block")
        .field(block.range_uid)
        .field(block.space)
        .field(block.prefix.to_string())
        .field(static_cast<int>(block.state))
        .field(block.uid)
        .field(block.version)
        .field(block.node_uid)
        .field(block.boot_id)
        .field(block.confirmed ? std::to_string(*block.confirmed) : "")
        .field(block.since)
        .field(block.holder);
}

Block read_block(Fields& fields) {
    const std::string range_uid = fields.text();
    const std::string space = fields.text();
    Block block{.range_uid = range_uid, .space = space, .prefix = read_prefix(fields)};
    const int state = fields.number<int>();
    if (state < 0 || state > static_cast<int>(BlockState::going)) throw NotABook("a block has no state");
    block.state = static_cast<BlockState>(state);
    block.uid = fields.text();
    block.version = fields.text();
    block.node_uid = fields.text();
    block.boot_id = fields.text();
    if (const std::string_view confirmed = fields.raw(); !confirmed.empty()) {
        block.confirmed = base::parse_integer<std::int64_t>(confirmed);
        if (!block.confirmed) throw NotABook("a field is no number");
    }
    block.since = fields.number<std::int64_t>();
    block.holder = fields.text();
    return block;
}

/// Eight bytes at a time, because every call reads and writes the whole file. It shall tell damage, not defend against
/// anybody.
std::uint64_t hash_of(std::string_view text) {
    constexpr std::uint64_t kPrime = 0x9e3779b97f4a7c15;
    std::uint64_t hash = text.size();
    for (; !text.empty(); text.remove_prefix(std::min(text.size(), sizeof hash))) {
        std::uint64_t word = 0;
        std::memcpy(&word, text.data(), std::min(text.size(), sizeof word));
        hash = std::rotl(hash ^ word, 29) * kPrime;
    }
    return hash ^ hash >> 32U;
}

std::string last_line(std::string_view text) {
    return fmt::format("end\t{:016x}\n", hash_of(text));
}

/// The lines between the first and the last one.
std::string_view body_of(std::string_view text) {
    if (!text.starts_with(kHead)) throw NotABook("it does not begin as a file of leases");
    const auto head_end = text.find('\n');
    if (head_end == std::string_view::npos) throw NotABook("it names no version");
    // Every version has this last line, so that a damaged number does not make the file a newer version's.
    const std::size_t end_size = last_line("").size();
    if (text.size() < head_end + 1 + end_size) throw NotABook(fmt::format("it is cut short at {} bytes", text.size()));
    const std::string_view all = text.substr(0, text.size() - end_size);
    if (text.substr(all.size()) != last_line(all)) throw NotABook("it is not what was written");
    const auto version = base::parse_integer<int>(text.substr(kHead.size(), head_end - kHead.size()));
    if (!version || *version < 1) throw NotABook("it names no version");
    if (*version != kVersion)
        throw NewerBook(fmt::format("has version {}, this program knows versions up to {}", *version, kVersion));
    return all.substr(head_end + 1);
}

template <class Row>
bool is_before(const Row& a, const Row& b) {
    const int order = a.space.compare(b.space);
    return order != 0 ? order < 0 : a.address < b.address;
}

} // namespace

std::string escaped(std::string_view text) {
    std::string field;
    field.reserve(text.size());
    for (const char c : text) {
        if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f || c == '\\')
            field += fmt::format("\\{:02x}", static_cast<unsigned char>(c));
        else
            field += c;
    }
    return field;
}

std::string sealed(std::string text) {
    return text += last_line(text);
}

std::string line_of(const Lease& lease) {
    const Owner& owner = lease.owner;
    std::string line;
    Writer(line, "lease")
        .field(lease.space)
        .field(lease.address.address().to_string())
        .field(lease.address.length())
        .field(lease.slot)
        .field(owner.key.network)
        .field(owner.key.container_id)
        .field(owner.key.ifname)
        .field(owner.pod_namespace)
        .field(owner.pod_name)
        .field(owner.pod_uid)
        .field(owner.netns_path)
        .field(owner.netns_cookie)
        .field(owner.netns_inode)
        .field(owner.pid_view)
        .field(owner.boot_id)
        .field(lease.since)
        .field(static_cast<std::int64_t>(lease.cooldown.count()));
    return line;
}

Lease parse_lease(std::string_view line) {
    Fields fields(line.substr(0, line.find('\n')));
    (void)fields.raw(); // "lease"
    const std::string space = fields.text();
    const auto address = base::IpAddress::parse(fields.raw());
    const auto prefix = address ? base::IpPrefix::make(*address, fields.number<unsigned>()) : std::nullopt;
    if (!prefix) throw NotABook("a lease has no address");
    Lease lease{.space = space, .address = *prefix};
    lease.slot = fields.number<unsigned>();
    lease.owner.key.network = fields.text();
    lease.owner.key.container_id = fields.text();
    lease.owner.key.ifname = fields.text();
    lease.owner.pod_namespace = fields.text();
    lease.owner.pod_name = fields.text();
    lease.owner.pod_uid = fields.text();
    lease.owner.netns_path = fields.text();
    lease.owner.netns_cookie = fields.number<std::uint64_t>();
    lease.owner.netns_inode = fields.number<std::uint64_t>();
    lease.owner.pid_view = fields.number<std::uint64_t>();
    lease.owner.boot_id = fields.text();
    lease.since = fields.number<std::int64_t>();
    lease.cooldown = std::chrono::seconds(fields.number<std::int64_t>());
    fields.expect_end();
    return lease;
}

std::string LeaseBook::to_text(std::uint64_t inode) const {
    std::string text = fmt::format("{}{}\n", kHead, kVersion);
    Writer(text, "file").field(inode);
    for (const Row& row : rows_) text.append(row.line);
    for (const RestingAddress& one : resting_)
        Writer(text, "rest").field(one.space).field(one.address.to_string()).field(one.until).field(one.whose);
    for (const BlockRange& range : ranges) write(range, text);
    for (const Block& block : blocks) write(block, text);
    return sealed(std::move(text));
}

/// The hash tells damage. What it can't tell is a program that writes nonsense: a row must still make sense.
LeaseBook LeaseBook::parse(std::string text, std::uint64_t inode, Time now) {
    LeaseBook book(now);
    bool is_put_back = true;
    book.source_ = std::make_shared<const std::string>(std::move(text));
    for (std::string_view body = body_of(*book.source_); !body.empty();) {
        const auto end = body.find('\n');
        if (end == std::string_view::npos) throw NotABook("a line has no end");
        const std::string_view line = body.substr(0, end + 1);
        body.remove_prefix(line.size());
        Fields fields(line.substr(0, end));
        const std::string_view kind = fields.raw();
        if (kind == "lease") {
            const std::string_view space = fields.raw();
            const auto address = base::IpAddress::parse(fields.raw());
            if (!address) throw NotABook("a lease has no address");
            const Row row{.space = space, .address = *address, .line = line};
            if (!book.rows_.empty() && !is_before(book.rows_.back(), row)) throw NotABook("leases are in no order");
            book.rows_.push_back(row);
            continue;
        }
        if (kind == "rest") {
            book.resting_.push_back(read_resting(fields));
        } else if (kind == "range") {
            book.ranges.push_back(read_range(fields));
        } else if (kind == "block") {
            book.blocks.push_back(read_block(fields));
        } else if (kind == "file") {
            is_put_back = fields.number<std::uint64_t>() != inode;
        } else {
            throw NotABook(fmt::format("a line begins with {}", base::quoted(kind)));
        }
        fields.expect_end();
    }
    if (is_put_back)
        for (Block& block : book.blocks) block.confirmed.reset();
    return book;
}

} // namespace rdmanet::ipam
