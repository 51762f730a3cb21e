// Records which functions a process runs, in order: each entry, and each return with the function that it returns to.
// Preloaded into a program that was compiled with -finstrument-functions. At its end it writes the addresses, relative
// to the executable's begin, into $RDMANET_MOVES/$CNI_COMMAND.
#define _GNU_SOURCE
#include <link.h>
#include <stdio.h>
#include <stdlib.h>

enum { kMost = 1 << 22, kDeepest = 1 << 16 };
static void* moves[kMost];
static void* stack[kDeepest];
static size_t count, depth;

void __cyg_profile_func_enter(void* function, void* site) {
    (void)site;
    if (depth < kDeepest) stack[depth] = function;
    ++depth;
    if (count < kMost) moves[count++] = function;
}

void __cyg_profile_func_exit(void* function, void* site) {
    (void)function, (void)site;
    if (depth == 0) return;
    --depth;
    if (depth != 0 && depth <= kDeepest && count < kMost) moves[count++] = stack[depth - 1];
}

static int first(struct dl_phdr_info* info, size_t size, void* base) {
    (void)size;
    *(size_t*)base = info->dlpi_addr;
    return 1; // the executable comes first
}

__attribute__((destructor)) static void write_down(void) {
    const char* directory = getenv("RDMANET_MOVES");
    const char* command = getenv("CNI_COMMAND");
    if (directory == NULL || command == NULL) return;
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", directory, command);
    FILE* file = fopen(path, "w");
    size_t base = 0;
    dl_iterate_phdr(first, &base);
    for (size_t at = 0; file != NULL && at < count; ++at) fprintf(file, "%zx\n", (size_t)moves[at] - base);
    if (file != NULL) fclose(file);
}
