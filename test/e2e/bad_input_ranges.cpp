// "range", its start and end, and "ipRanges": invalid texts, and ranges without a usable address.
#include "bad_input.hpp"

#include "support/concat.hpp"

namespace rdmanet::test {
namespace {

std::string list_of(const std::string& element, int count) {
    std::string list;
    for (int at = 0; at < count; ++at) list += concat(at == 0 ? "" : ",", element);
    return list;
}

Table ranges() {
    return {
        "invalid ranges",
        {
            {"empty and no other", {range("")}, 7, "ipam", ""},
            {"empty list and no other", {ipam_member("'range':null,'ipRanges':[]")}, 7, "ipam", ""},
            {"empty lists", {ipam_member("'range':null,'ipRanges':[],'addresses':[]")}, 7, "ipam", ""},
            {"only its start", {ipam_member("'range':null,'range_start':'10.70.0.9'")}, 7, "ipam", ""},
            {"element without a range", {ipam_member("'ipRanges':[{}]")}, 7, "ipam.ipRanges[0]", ""},
            {"element with an empty range",
             {ipam_member("'ipRanges':[{'range':''}]")},
             7,
             "ipam.ipRanges[0].range",
             "\"\""},
            {"address without a length", {range("10.70.0.0")}, 7, "ipam.range", "\"10.70.0.0\""},
            {"length that is too long", {range("10.70.0.0/33")}, 7, "ipam.range", "\"10.70.0.0/33\""},
            {"IPv6 length that is too long", {range("fd70::/129")}, 7, "ipam.range", "\"fd70::/129\""},
            {"negative length", {range("10.70.0.0/-1")}, 7, "ipam.range", "\"10.70.0.0/\""},
            {"no length", {range("10.70.0.0/")}, 7, "ipam.range", "\"10.70.0.0/\""},
            {"netmask", {range("10.70.0.0/255.255.255.0")}, 7, "ipam.range", "\"10.70.0.0/255.255.255.0\""},
            {"three numbers", {range("10.70.0/24")}, 7, "ipam.range", "\"10.70.0/24\""},
            {"five numbers", {range("10.70.0.0.0/24")}, 7, "ipam.range", "\"10.70.0.0.0/24\""},
            {"number above 255", {range("10.70.256.0/24")}, 7, "ipam.range", "\"10.70.256.0/24\""},
            {"leading zeros", {range("10.070.0.0/24")}, 7, "ipam.range", "\"10.070.0.0/24\""},
            {"white space", {range(" 10.70.0.0/24")}, 7, "ipam.range", "\" 10.70.0.0/24\""},
            {"words", {range("all")}, 7, "ipam.range", "\"all\""},
            {"control characters", {range("\\u001b[2J")}, 7, "ipam.range", "\"\\x1b[2J\""},
            {"256 KiB", {range(std::string(std::size_t{1} << 18U, '1'))}, 7, "ipam.range", "\"11111111111..."},
            {"IPv6 with a zone", {range("fe80::%net1/64")}, 7, "ipam.range", "\"fe80::%net1/64\""},
            {"IPv6 with two gaps", {range("fd70::1::/64")}, 7, "ipam.range", "\"fd70::1::/64\""},
            {"/31", {range("10.70.0.0/31")}, 7, "ipam.range", "10.70.0.0/31"},
            {"/32", {range("10.70.0.9/32")}, 7, "ipam.range", "10.70.0.9/32"},
            {"/128", {range("fd70::9/128")}, 7, "ipam.range", "fd70::9/128"},
            {"multicast", {range("224.0.0.0/24")}, 7, "ipam.range", "\"224.0.0.0/24\""},
            {"IPv6 multicast", {range("ff02::/64")}, 7, "ipam.range", "\"ff02::/64\""},
            {"loopback", {range("127.0.0.0/24")}, 7, "ipam.range", "\"127.0.0.0/24\""},
            {"IPv6 loopback", {range("::/64")}, 7, "ipam.range", "\"::/64\""},
            {"this network", {range("0.0.0.0/24")}, 7, "ipam.range", "\"0.0.0.0/24\""},
            {"everything", {range("0.0.0.0/0")}, 7, "ipam.range", "\"0.0.0.0/0\""},
            {"all of IPv6", {range("::/0")}, 7, "ipam.range", "\"::/0\""},
            {"across multicast",
             {ipam_member("'range':'10.70.0.0/24','ipRanges':[{'range':'192.0.0.0/2'}]")},
             7,
             "ipam.ipRanges[0].range",
             "\"192.0.0.0/2\""},
            {"backwards", {range("10.70.0.9-10.70.0.5/24")}, 7, "ipam.range", "10.70.0.5"},
            {"first one of another subnet", {range("10.71.0.5-10.70.0.9/24")}, 7, "ipam.range", "10.71.0.5"},
            {"two families", {range("10.70.0.5-fd70::9/64")}, 7, "ipam.range", "10.70.0.5"},
            {"without a last", {range("10.70.0.5-/24")}, 7, "ipam.range", "\"/24\""},
            {"without a first", {range("-10.70.0.5/24")}, 7, "ipam.range", "\"\""},
            {"length at the first", {range("10.70.0.5/24-10.70.0.9")}, 7, "ipam.range", "\"10.70.0.5/24\""},
            {"three addresses",
             {range("10.70.0.1-10.70.0.5-10.70.0.9/24")},
             7,
             "ipam.range",
             "\"10.70.0.5-10.70.0.9/24\""},
            {"start behind the end",
             {ipam_member("'range_start':'10.70.0.9','range_end':'10.70.0.5'")},
             7,
             "ipam.range_end",
             "10.70.0.5"},
            {"start of the other family", {ipam_member("'range_start':'fd70::9'")}, 7, "ipam.range_start", "fd70::9"},
            {"end of the other family", {ipam_member("'range_end':'fd70::9'")}, 7, "ipam.range_end", "fd70::9"},
            {"start is not an address", {ipam_member("'range_start':'10.70.0'")}, 7, "ipam.range_start", "\"10.70.0\""},
            {"end is a prefix", {ipam_member("'range_end':'10.70.0.9/24'")}, 7, "ipam.range_end", "\"10.70.0.9/24\""},
            {"257 of them",
             {ipam_member(concat("'ipRanges':[", list_of("{'range':'10.71.0.0/24'}", 256), ']'))},
             7,
             "ipam.ipRanges",
             "257"},
            {"20000 of them",
             {ipam_member(concat("'ipRanges':[", list_of("{'range':'10.71.0.0/24'}", 20'000), ']'))},
             7,
             "ipam.ipRanges",
             "20001"},
            {"the last of many",
             {ipam_member(concat("'ipRanges':[", list_of("{'range':'10.71.0.0/24'}", 200), ",{'range':1}]"))},
             7,
             "ipam.ipRanges[200].range",
             "1"},
        }};
}

} // namespace

std::vector<Table> range_tables() {
    return {ranges()};
}

} // namespace rdmanet::test
