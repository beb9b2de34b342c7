/* kernel_avx2.c: the kernels for AVX2; see kernel_body.h. */
#if defined(__x86_64__)
#define KERNEL_TABLE yn_kernel_avx2
#define KERNEL_NAME "avx2"
#define KERNEL_STEP 32
#include "core/kernel_body.h"
#endif
