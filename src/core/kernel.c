/* kernel.c: chooses the kernels. */
#include "core/kernel.h"

#include <stdlib.h>

const struct yn_kernel *yn_kernel_find(const char *name)
{
#if defined(__x86_64__)
    if (strcmp(name, "avx512") == 0 && __builtin_cpu_supports("avx512f") &&
        __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512vl"))
        return &yn_kernel_avx512;
    if (strcmp(name, "avx2") == 0 && __builtin_cpu_supports("avx2"))
        return &yn_kernel_avx2;
#endif
    return strcmp(name, "scalar") == 0 ? &yn_kernel_scalar : NULL;
}

static const char *const best_first[] = {"avx512", "avx2", "scalar"};

bool yn_kernel_is_name(const char *name)
{
    bool is_name = false;
    for (size_t i = 0; i < 3; i++)
        is_name |= strcmp(name, best_first[i]) == 0;
    return is_name;
}

static const struct yn_kernel *choose(void)
{
    const char *wanted = getenv("YONDER_KERNEL");
    const struct yn_kernel *kernel = wanted != NULL ? yn_kernel_find(wanted) : NULL;
    for (size_t i = 0; kernel == NULL; i++)
        kernel = yn_kernel_find(best_first[i]);
    return kernel;
}

const struct yn_kernel *yn_kernel(void)
{
    /* chosen once by whoever asks first; a race only makes the same choice twice, of
     * constants, so that no order of memory is needed */
    static const struct yn_kernel *chosen;
    const struct yn_kernel *kernel = __atomic_load_n(&chosen, __ATOMIC_RELAXED);
    if (kernel == NULL) {
        kernel = choose();
        __atomic_store_n(&chosen, kernel, __ATOMIC_RELAXED);
    }
    return kernel;
}
