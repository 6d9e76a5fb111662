#include "common/env.h"
#include "base/err.h"
#include <stdlib.h>
#include <string.h>

static const struct { const char *variable, *option; } variables[] = {
	{ "INFER_MODEL", "model" },
	{ "INFER_THREADS", "threads" },
	{ "INFER_ISA", "isa" },
};

int env_read(const struct opt *rows, void *into, struct arena *mem, infer_error *err)
{
	for (size_t i = 0; i < sizeof variables / sizeof *variables; i++) {
		const char *value = getenv(variables[i].variable);

		if (!value || !*value)
			continue;
		for (const struct opt *o = rows; o->kind != OPT_END; o++)
			if (o->name && !strcmp(o->name, variables[i].option))
				TRY(opt_value(o, into, value, variables[i].variable, mem, err));
	}
	return INFER_OK;
}
