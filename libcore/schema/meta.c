/* schema/meta.c - the schemas of JSON Schema itself, and the draft that $schema names. */
#include "schema/compile.h"
#include "base/jread.h"

#include <string.h>

extern const struct metaschema metaschemas[]; /* metaschemas_tab.c; the last one has no uri */

/* Return the URI after http:// or https://, or NULL for other schemes. */
static const char *after_scheme(const char *uri, size_t n)
{
	if (n > 7 && !memcmp(uri, "http://", 7))
		return uri + 7;
	return n > 8 && !memcmp(uri, "https://", 8) ? uri + 8 : NULL;
}

const struct metaschema *metaschema_find(const char *uri, size_t n)
{
	const char *at = after_scheme(uri, n);

	for (const struct metaschema *m = metaschemas; at && m->uri; m++) {
		const char *own = after_scheme(m->uri, strlen(m->uri));

		if (strlen(own) == n - (size_t)(at - uri) && !memcmp(own, at, strlen(own)))
			return m;
	}
	return NULL;
}

int metaschema_read(struct work *w, const struct metaschema *m, const struct json **out)
{
	const size_t n = strlen(m->text), bytes = 32 * n; /* the most that jread takes */

	TRY(work_steps(w, n));
	TRY(work_bytes(w, bytes));
	w->taken += bytes;
	return jread(out, &w->mem, m->text, n, m->uri, w->err);
}

int schema_draft_of(struct schema *c, const struct json *v, int draft, int *out)
{
	/* 0: no draft in particular */
	static const struct {
		const char *part;
		int draft;
	} drafts[] = {
		{ "json-schema.org/draft-04/", SCHEMA_4 },
		{ "json-schema.org/draft-05/", SCHEMA_4 },
		{ "json-schema.org/draft-06/", SCHEMA_6 },
		{ "json-schema.org/draft-07/", SCHEMA_7 },
		{ "json-schema.org/draft/2019-09/", SCHEMA_2019 },
		{ "json-schema.org/draft/2020-12/", DRAFT_2020 },
		{ "json-schema.org/schema", 0 },
		/* draft 4 with the annotation `self` */
		{ "iglucentral.com/schemas/com.snowplowanalytics.self-desc/", SCHEMA_4 },
	};
	const struct json *s = json_get(v, "$schema");

	*out = draft;
	if (!s)
		return INFER_OK;
	if (!json_is_string(s))
		return schema_fail(c, INFER_EINVAL, s, "must be a string");
	for (size_t i = 0; i < sizeof drafts / sizeof *drafts; i++)
		if (memmem(s->s, s->n, drafts[i].part, strlen(drafts[i].part))) {
			*out = drafts[i].draft ? drafts[i].draft : draft;
			return INFER_OK;
		}
	if (c->opts.lax) {
		schema_ignore(c, s);
		return INFER_OK;
	}
	return schema_fail(c, INFER_EUNSUP, s,
	                   "names a dialect that is not supported: drafts 4, 6, 7, 2019-09 and "
	                   "2020-12 are");
}
