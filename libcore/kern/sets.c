/* kern/sets.c - list the kernel sets for the public interface (infer/hw.h). */
#include <infer/hw.h>
#include "kern/kern.h"

int infer_kernel_set(int i, struct infer_kernel_set *s)
{
	const char *name = i < 0 ? NULL : kern_name((unsigned)i);

	if (!name)
		return 0;
	uint64_t needs = kern_needs((unsigned)i);

	*s = (struct infer_kernel_set){ name, (cpu_grantable(cpu_features()) & needs) == needs };
	return 1;
}
