/* kernel_avx512.c: the kernels for AVX-512 (F, BW, DQ, VL); see kernel_body.h. */
#if defined(__x86_64__)
#define KERNEL_TABLE yn_kernel_avx512
#define KERNEL_NAME "avx512"
#define KERNEL_STEP 64
#include "core/kernel_body.h"
#endif
