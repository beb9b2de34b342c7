/* kernel_scalar.c: the kernels for any processor; see kernel_body.h. */
#define KERNEL_TABLE yn_kernel_scalar
#define KERNEL_NAME "scalar"
#define KERNEL_STEP 16
#include "core/kernel_body.h"
