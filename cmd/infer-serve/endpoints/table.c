/* infer-serve/endpoints/table.c - the table of all endpoints. */
#include "infer-serve/endpoints/table.h"
#include "infer-serve/ops/metrics.h"

#include <stddef.h>

#define EP(method, path, name, format, flags, manual, test) endpoint_fn ep_##name;
#define OFF(method, path)
#include "infer-serve/endpoints/endpoint_list.h"
#undef EP
#undef OFF

static const struct endpoint rows[] = {
#define EP(method, path, name, format, flags, manual, test) \
	{ ROUTE_##method, path, ep_##name, format, flags },
#define OFF(method, path) { ROUTE_##method, path, NULL, NULL, EP_OFF | EP_QUICK },
#include "infer-serve/endpoints/endpoint_list.h"
#undef EP
#undef OFF
};
enum { ROWS = sizeof rows / sizeof *rows };
_Static_assert((int)ROWS < METRICS_ENDPOINTS, "each endpoint has a row of counters");

const struct route_table endpoint_table = { rows, ROWS };

const char *endpoint_path(int i) { return i >= 0 && i < ROWS ? rows[i].path : "none"; }
