/* infer-bench/cases.c - records of measurements, grouped by what was measured. */
#include "cases.h"
#include "common/file.h"
#include "base/err.h"
#include "base/jread.h"
#include "base/jwrite.h"

#include <string.h>

enum { MAX_FILE_BYTES = 1 << 30 };

/* Fields that identify what was measured, by kind of measurement. Lists end with NULL. */
static const char *const of_model[] = { "tokens", "depth", "batch", "clock", "cache", NULL };
static const char *const of_kernel[] = { "kernel", "type", "shape", "n", "k", "m", "isa", NULL };
static const char *const of_server[] = { "api",           "loop",  "rate",     "clients",
	                                 "requests",      "trace", "prompt",   "output",
	                                 "shared_prefix", "seed",  "adapters", NULL };
static const char *const of_pair[] = { "command", NULL };

static void put_fields(struct buf *to, const struct json *from, const char *const *names)
{
	struct jwrite w;

	for (; *names; names++) {
		const struct json *v = json_get(from, *names);

		if (!v)
			continue;
		buf_printf(to, " %s=", *names);
		if (json_is_string(v)) {
			buf_put(to, json_str(v), json_bytes(v));
			continue;
		}
		jw_init(&w, to);
		jw_value(&w, NULL, v);
	}
}

/* Return the key of the case of a record, allocated in mem. */
static const char *make_case_key(struct arena *mem, const struct json *r)
{
	const struct json *bench = json_get(r, "bench"), *work = json_get(r, "workload");
	struct buf b;
	const char *key = NULL;

	buf_init(&b, MEM_BASE);
	buf_put(&b, json_str(bench), json_bytes(bench));
	if (json_equals(bench, "serve"))
		put_fields(&b, work, of_server);
	else if (json_equals(bench, "ab"))
		put_fields(&b, r, of_pair);
	else
		put_fields(&b, r, json_equals(bench, "kernel") ? of_kernel : of_model);
	if (!b.bad)
		key = arena_strndup(mem, b.at, b.len);
	buf_fini(&b);
	return key;
}

struct bench_case *cases_find(const struct cases *c, const char *key)
{
	struct bench_case *k = c->first;

	while (k && strcmp(k->key, key))
		k = k->next;
	return k;
}

static int add_case_record(struct cases *c, const struct json *r, infer_error *err)
{
	const char *key = make_case_key(&c->mem, r);
	struct bench_case *k = key ? cases_find(c, key) : NULL;

	if (key && !k && (k = arena_alloc(&c->mem, 1, sizeof *k))) {
		k->key = key;
		*(c->last ? &c->last->next : &c->first) = k;
		c->last = k;
		c->n++;
	}
	if (k && k->n == k->cap) {
		size_t cap = k->cap ? 2 * k->cap : 4;
		const struct json **more = arena_alloc(&c->mem, cap, sizeof(struct json *));

		if (more && k->n)
			memcpy(more, k->records, k->n * sizeof(struct json *));
		k->records = more;
		k->cap = more ? cap : 0;
	}
	if (!k || !k->cap)
		return err_nomem(err);
	k->records[k->n++] = r;
	c->records++;
	return INFER_OK;
}

static int read_lines(struct cases *c, const char *path, const struct buf *text, infer_error *err)
{
	int64_t line = 0;

	for (size_t at = 0, n; at < text->len; at += n + 1) {
		const char *from = text->at + at, *end = memchr(from, '\n', text->len - at);
		const struct json *v;
		infer_error why;

		n = end ? (size_t)(end - from) : text->len - at;
		line++;
		if (!n)
			continue;
		const char *own = arena_strndup(&c->mem, from, n);
		int rc = own ? jread(&v, &c->mem, own, n, path, &why)
		             : err_set(&why, INFER_ENOMEM, "out of memory for %s", path);

		if (rc == INFER_EFORMAT)
			return err_set(err, rc, "%s: line %lld is not a record", path,
			               (long long)line);
		if (rc)
			return err_set(err, rc, "%s", why.message);
		if (json_equals(json_get(v, "kind"), "bench") &&
		    !json_equals(json_get(v, "bench"), "ceilings"))
			TRY(add_case_record(c, v, err));
	}
	return INFER_OK;
}

static int read_file(struct cases *c, const char *path, infer_error *err)
{
	size_t before = c->records;
	struct buf text;
	int rc;

	buf_init(&text, MEM_BASE);
	rc = file_read_any(&text, path, MAX_FILE_BYTES, err);
	if (!rc)
		rc = read_lines(c, path, &text, err);
	buf_fini(&text);
	if (!rc && c->records == before)
		rc = err_set(err, INFER_EFORMAT, "%s: has no record of a measurement", path);
	return rc;
}

int cases_read(struct cases *c, const char *path, infer_error *err)
{
	*c = (struct cases){ .name = path };
	arena_init(&c->mem, MEM_BASE);
	return read_file(c, path, err);
}

int cases_read_all(struct cases *c, char *const *paths, int n, infer_error *err)
{
	TRY(cases_read(c, n ? paths[0] : "-", err));
	for (int i = 1; i < n; i++)
		TRY(read_file(c, paths[i], err));
	return INFER_OK;
}

void cases_fini(struct cases *c) { arena_fini(&c->mem); }

const struct json *case_metric(const struct bench_case *c, size_t i)
{
	for (size_t k = 0; k < c->n; k++) {
		const struct json *m = json_get(c->records[k], "metrics");

		if (m)
			return json_at(m, i);
	}
	return NULL;
}

double *case_values(const struct bench_case *c, const char *metric, const char *quantile, size_t *n,
                    struct arena *mem)
{
	size_t all = c->n;
	double *v;

	*n = 0;
	for (size_t k = 0; k < c->n; k++)
		all += json_count(
			json_get(json_get(json_get(c->records[k], "metrics"), metric), "values"));
	v = arena_alloc(mem, all + 1, sizeof *v);
	for (size_t k = 0; v && k < c->n; k++) {
		const struct json *m = json_get(json_get(c->records[k], "metrics"), metric);

		if (quantile || !json_count(json_get(m, "values"))) {
			const struct json *q =
				json_get(json_get(m, quantile ? quantile : "p50"), "value");

			if (json_is_number(q))
				v[(*n)++] = json_double(q);
			continue;
		}
		json_each(x, json_get(m, "values"))
			v[(*n)++] = json_double(x);
	}
	return v;
}
