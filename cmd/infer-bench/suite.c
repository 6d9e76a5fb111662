/* infer-bench/suite.c - --suite: a list of runs in YAML, each a map of options. */
#include "suite.h"
#include "common/file.h"
#include "base/err.h"
#include "base/yaml.h"

#include <string.h>

/* Make the argument "--key=value", or "--key" for the value true. */
static int make_argument(struct suite *s, char **to, const struct ytree *v, const char *path,
                         infer_error *err)
{
	struct buf b;
	const char *key, *value;
	int rc = ytree_text(&key, v->key, path, err);

	if (!rc)
		rc = ytree_text(&value, v, path, err);
	if (!rc && (key[0] == '-' || strlen(key) < 2))
		rc = ytree_fail(v, path, err, INFER_EFORMAT,
		                "an option must be a long name without dashes");
	if (rc)
		return rc;
	buf_init(&b, MEM_BASE);
	buf_printf(&b, "--%s", key);
	if (!v->plain || !ytree_is(v, "true"))
		buf_printf(&b, "=%s", value);
	*to = b.bad ? NULL : arena_strndup(&s->mem, b.at, b.len);
	buf_fini(&b);
	return *to ? INFER_OK : err_set(err, INFER_ENOMEM, "out of memory for %s", path);
}

static int read_run(struct suite *s, struct suite_run *r, const struct ytree *y,
                    const char *subject, const char *path, infer_error *err)
{
	static char program[] = "infer-bench";
	const struct ytree *options;

	TRY(ytree_map(y, path, err));
	for (const struct ytree *v = y->first; v; v = v->next)
		if (!ytree_is(v->key, "name") && !ytree_is(v->key, "command") &&
		    !ytree_is(v->key, "options"))
			return ytree_fail(v, path, err, INFER_EFORMAT,
			                  "a run has name, command and options, not %.40s",
			                  v->key->at);
	r->name = subject;
	if (ytree_get(y, "command"))
		TRY(ytree_text(&subject, ytree_get(y, "command"), path, err));
	if (strcmp(subject, "run") && strcmp(subject, "serve"))
		return ytree_fail(y, path, err, INFER_EFORMAT, "command must be run or serve");
	if (ytree_get(y, "name"))
		TRY(ytree_text(&r->name, ytree_get(y, "name"), path, err));
	options = ytree_get(y, "options");
	if (options)
		TRY(ytree_map(options, path, err));
	r->argv = arena_alloc(&s->mem, (options ? options->n : 0) + 3, sizeof(char *));
	if (!r->argv)
		return err_set(err, INFER_ENOMEM, "out of memory for %s", path);
	r->argv[r->argc++] = program;
	r->argv[r->argc++] = arena_strndup(&s->mem, subject, strlen(subject));
	for (const struct ytree *v = options ? options->first : NULL; v; v = v->next)
		TRY(make_argument(s, &r->argv[r->argc++], v, path, err));
	return s->mem.bad ? err_set(err, INFER_ENOMEM, "out of memory for %s", path) : INFER_OK;
}

static int read_runs(struct suite *s, const struct ytree *top, const char *subject,
                     const char *path, infer_error *err)
{
	const struct ytree *runs, *version;
	uint64_t number;

	if (!top)
		return err_set(err, INFER_EFORMAT, "%s: the suite is empty", path);
	TRY(ytree_map(top, path, err));
	for (const struct ytree *v = top->first; v; v = v->next)
		if (!ytree_is(v->key, "version") && !ytree_is(v->key, "runs"))
			return ytree_fail(v, path, err, INFER_EFORMAT,
			                  "a suite has version and runs, not %.40s", v->key->at);
	version = ytree_get(top, "version");
	runs = ytree_get(top, "runs");
	if (!version || !runs)
		return ytree_fail(top, path, err, INFER_EFORMAT,
		                  "a suite must have version and runs");
	TRY(ytree_u64(&number, version, 1, 1, path, err));
	TRY(ytree_list(runs, path, err));
	s->runs = arena_alloc(&s->mem, runs->n + 1, sizeof *s->runs);
	if (!s->runs)
		return err_set(err, INFER_ENOMEM, "out of memory for %s", path);
	for (const struct ytree *y = runs->first; y; y = y->next)
		TRY(read_run(s, &s->runs[s->n++], y, subject, path, err));
	return s->n ? INFER_OK
	            : ytree_fail(runs, path, err, INFER_EFORMAT, "runs must not be empty");
}

int suite_read(struct suite *s, const char *path, const char *subject, infer_error *err)
{
	struct buf text;
	struct ytree *top;
	int rc;

	*s = (struct suite){ 0 };
	arena_init(&s->mem, MEM_BASE);
	buf_init(&text, MEM_BASE);
	rc = file_read(&text, path, YTREE_BYTES, err);
	if (!rc)
		rc = ytree_read(&top, &s->mem, text.at ? text.at : "", text.len, path, err);
	if (!rc)
		rc = read_runs(s, top, subject, path, err);
	buf_fini(&text);
	return rc;
}

void suite_fini(struct suite *s) { arena_fini(&s->mem); }
