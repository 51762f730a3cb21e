// "range", its start and end, and "ipRanges": texts that are no range, and ranges that nothing can be given from.
#include "bad_input.hpp"

namespace rdmanet::test {
namespace {

std::string list_of(const std::string& element, int count) {
    std::string list;
    for (int at = 0; at < count; ++at) list += concat(at == 0 ? "" : ",", element);
    return list;
}

#define NO_PREFIX "ipam.range: expected an address with prefix length, like \"10.1.2.0/24\", found "

Table ranges() {
    return {
        "ranges that are none",
        {
            {"empty and no other",
             {range("")},
             7,
             "ipam: nothing to allocate from: expected \"range\", \"ipRanges\" or \"add"},
            {"empty list and no other",
             {ipam_member("'range':null,'ipRanges':[]")},
             7,
             "ipam: nothing to allocate from"},
            {"empty lists",
             {ipam_member("'range':null,'ipRanges':[],'addresses':[]")},
             7,
             "ipam: nothing to allocate from"},
            {"only its start",
             {ipam_member("'range':null,'range_start':'10.70.0.9'")},
             7,
             "ipam: nothing to allocate from"},
            {"element without a range",
             {ipam_member("'ipRanges':[{}]")},
             7,
             "ipam.ipRanges[0]: missing required key \"range\""},
            {"element with an empty range",
             {ipam_member("'ipRanges':[{'range':''}]")},
             7,
             "ipam.ipRanges[0].range: expected"},
            {"address without a length", {range("10.70.0.0")}, 7, NO_PREFIX "\"10.70.0.0\""},
            {"length that is too long", {range("10.70.0.0/33")}, 7, NO_PREFIX "\"10.70.0.0/33\""},
            {"IPv6 length that is too long", {range("fd70::/129")}, 7, NO_PREFIX "\"fd70::/129\""},
            {"negative length", {range("10.70.0.0/-1")}, 7, "ipam.range: expected an IP address, found \"10.70.0.0/\""},
            {"no length", {range("10.70.0.0/")}, 7, NO_PREFIX "\"10.70.0.0/\""},
            {"netmask", {range("10.70.0.0/255.255.255.0")}, 7, NO_PREFIX "\"10.70.0.0/255.255.255.0\""},
            {"three numbers", {range("10.70.0/24")}, 7, NO_PREFIX "\"10.70.0/24\""},
            {"five numbers", {range("10.70.0.0.0/24")}, 7, NO_PREFIX "\"10.70.0.0.0/24\""},
            {"number above 255", {range("10.70.256.0/24")}, 7, NO_PREFIX "\"10.70.256.0/24\""},
            {"leading zeros", {range("10.070.0.0/24")}, 7, NO_PREFIX "\"10.070.0.0/24\": leading zeros are refused"},
            {"white space", {range(" 10.70.0.0/24")}, 7, NO_PREFIX "\" 10.70.0.0/24\""},
            {"words", {range("all")}, 7, NO_PREFIX "\"all\""},
            {"control characters", {range("\\u001b[2J")}, 7, NO_PREFIX "\"\\x1b[2J\""},
            {"256 KiB", {range(std::string(std::size_t{1} << 18U, '1'))}, 7, NO_PREFIX "\"1111111111"},
            {"IPv6 with a zone", {range("fe80::%net1/64")}, 7, NO_PREFIX "\"fe80::%net1/64\""},
            {"IPv6 with two gaps", {range("fd70::1::/64")}, 7, NO_PREFIX "\"fd70::1::/64\""},
            {"/31",
             {range("10.70.0.0/31")},
             7,
             "ipam.range: 10.70.0.0/31 is too small: its first and last address are not"},
            {"/32",
             {range("10.70.0.9/32")},
             7,
             "ipam.range: 10.70.0.9/32 is too small: its first and last address are not"},
            {"/128",
             {range("fd70::9/128")},
             7,
             "ipam.range: fd70::9/128 is too small: its first and last address are not"},
            {"multicast", {range("224.0.0.0/24")}, 7, "ipam.range: expected addresses that an interface can have"},
            {"IPv6 multicast", {range("ff02::/64")}, 7, "ipam.range: expected addresses that an interface can have"},
            {"loopback", {range("127.0.0.0/24")}, 7, "ipam.range: expected addresses that an interface can have"},
            {"IPv6 loopback", {range("::/64")}, 7, "ipam.range: expected addresses that an interface can have"},
            {"this network", {range("0.0.0.0/24")}, 7, "ipam.range: expected addresses that an interface can have"},
            {"everything", {range("0.0.0.0/0")}, 7, "ipam.range: expected addresses that an interface can have"},
            {"all of IPv6", {range("::/0")}, 7, "ipam.range: expected addresses that an interface can have"},
            {"across multicast",
             {ipam_member("'range':'10.70.0.0/24','ipRanges':[{'range':'192.0.0.0/2'}]")},
             7,
             "ipam.ipRanges[0].range: expected addresses that an interface can have"},
            {"backwards",
             {range("10.70.0.9-10.70.0.5/24")},
             7,
             "ipam.range: the range ends at 10.70.0.5 before it starts at 10.70.0.9"},
            {"first one of another subnet",
             {range("10.71.0.5-10.70.0.9/24")},
             7,
             "ipam.range: first address 10.71.0.5 is not in 10.70.0.0/24, the subnet of the last one"},
            {"two families",
             {range("10.70.0.5-fd70::9/64")},
             7,
             "ipam.range: expected an IPv6 address, as in fd70::9/64"},
            {"without a last", {range("10.70.0.5-/24")}, 7, NO_PREFIX "\"/24\""},
            {"without a first", {range("-10.70.0.5/24")}, 7, "ipam.range: expected an IP address, found \"\""},
            {"length at the first",
             {range("10.70.0.5/24-10.70.0.9")},
             7,
             "ipam.range: expected an IP address, found \"10.70"},
            {"three addresses", {range("10.70.0.1-10.70.0.5-10.70.0.9/24")}, 7, NO_PREFIX "\"10.70.0.5-10.70.0.9/24\""},
            {"start behind the end",
             {ipam_member("'range_start':'10.70.0.9','range_end':'10.70.0.5'")},
             7,
             "ipam.range_end: the range ends at 10.70.0.5 before it starts at 10.70.0.9; expected an end that is not "
             "below"},
            {"start of the other family",
             {ipam_member("'range_start':'fd70::9'")},
             7,
             "ipam.range_start: expected an IPv4 address, as in 10.70.0.0/24, found fd70::9"},
            {"end of the other family",
             {ipam_member("'range_end':'fd70::9'")},
             7,
             "ipam.range_end: expected an IPv4 address"},
            {"start is no address",
             {ipam_member("'range_start':'10.70.0'")},
             7,
             "ipam.range_start: expected an IP address, found \"10.70.0\""},
            {"end is a prefix",
             {ipam_member("'range_end':'10.70.0.9/24'")},
             7,
             "ipam.range_end: expected an IP address, fou"},
            {"257 of them",
             {ipam_member(concat("'ipRanges':[", list_of("{'range':'10.71.0.0/24'}", 256), ']'))},
             7,
             "ipam.ipRanges: expected up to 256 ranges, found 257"},
            {"20000 of them",
             {ipam_member(concat("'ipRanges':[", list_of("{'range':'10.71.0.0/24'}", 20'000), ']'))},
             7,
             "ipam.ipRanges: expected up to 256 ranges, found 20001"},
            {"the last of many",
             {ipam_member(concat("'ipRanges':[", list_of("{'range':'10.71.0.0/24'}", 200), ",{'range':1}]"))},
             7,
             "ipam.ipRanges[200].range: expected a string, found 1"},
        }};
}

} // namespace

std::vector<Table> range_tables() {
    return {ranges()};
}

} // namespace rdmanet::test
