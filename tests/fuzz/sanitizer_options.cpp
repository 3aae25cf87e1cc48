// Freed memory is kept back, so that its use is seen: by default 256 MB, and then nearly every allocation waits for memory
// that no cache has. One MB is still that of many inputs. And of each allocation's callers the nearest will do.

extern "C" const char *__asan_default_options() {
    return "quarantine_size_mb=1:thread_local_quarantine_size_kb=64:malloc_context_size=6";
}
