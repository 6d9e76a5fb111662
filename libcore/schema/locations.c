/* schema/locations.c - the subschemas of a document: keywords, identifiers, references. */
#include "schema/compile.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/uri.h"

#include <string.h>

/* the schema false */
static const struct json no = { .kind = JSON_FALSE };

/* -- locations ---------------------------------------------------------------------------- */

static uint32_t location_hash(const struct location *p)
{
	return htab_mix(htab_mix((uint32_t)p->constant, p->scope),
	                (uint32_t)((uintptr_t)p->v >> 4));
}

static struct htab_slot *location_find(const struct schema *c, const struct location *like)
{
	struct htab_slot *s = htab_find(&c->by_value, location_hash(like));

	/* addresses differ from run to run, so probes do not count as steps */
	for (; s->index != NOWHERE; s = htab_next(&c->by_value, s)) {
		const struct location *p = c->location + s->index;

		if (p->v == like->v && p->constant == like->constant && p->scope == like->scope)
			break;
	}
	return s;
}

static int location_add(struct schema *c, const struct location *like, uint32_t *loc)
{
	struct htab_slot *s = location_find(c, like);

	*loc = s->index;
	if (s->index != NOWHERE)
		return INFER_OK;
	TRY(work_grow(&c->w, &c->location, &c->cap_locations, c->n_locations + 1,
	              sizeof *c->location));
	*loc = c->n_locations++;
	c->location[*loc] = *like;
	return htab_insert(&c->w, &c->by_value, s, location_hash(like), *loc);
}

int schema_locate(struct schema *c, const struct json *v, uint32_t resource, int constant,
                  uint32_t *loc)
{
	return location_add(c, &(struct location){ v, resource, 0, constant }, loc);
}

/* Return the anchor after a (NULL: the first), or NULL. */
static const struct anchor *next_anchor(const struct schema *c, const struct anchor *a)
{
	const size_t i = a ? (size_t)(a - c->anchor) + 1 : 0;

	return i < c->n_anchors ? c->anchor + i : NULL;
}

/* Return the scope after `scope` enters a resource: its dynamic anchors are added, unless an outer
 * resource has the name. */
static int scope_after(struct schema *c, uint32_t scope, uint32_t resource, uint32_t *out)
{
	uint32_t *outer;

	TRY(work_alloc(&c->w, &outer, c->n_names, sizeof *outer));
	memcpy(outer, c->scope[scope], c->n_names * sizeof *outer);
	for (const struct anchor *a = NULL; (a = next_anchor(c, a));)
		if (a->dynamic && a->resource == resource && outer[a->nth] == NOWHERE)
			outer[a->nth] = resource;
	TRY(work_steps(&c->w, (uint64_t)c->n_anchors + (uint64_t)c->n_scopes * c->n_names));
	for (*out = 0; *out < c->n_scopes; ++*out)
		if (!memcmp(c->scope[*out], outer, c->n_names * sizeof *outer))
			return INFER_OK;
	TRY(work_grow(&c->w, &c->scope, &c->cap_scopes, c->n_scopes + 1, sizeof *c->scope));
	c->scope[c->n_scopes++] = outer;
	return INFER_OK;
}

int schema_enter_scope(struct schema *c, uint32_t scope, uint32_t *loc)
{
	struct location p = c->location[*loc];

	if (!c->scoped)
		return INFER_OK;
	TRY(scope_after(c, scope, p.resource, &p.scope));
	return location_add(c, &p, loc);
}

int schema_child(struct schema *c, uint32_t parent, const struct json *v, uint32_t *loc)
{
	TRY(schema_locate(c, v, c->location[parent].resource, 0, loc));
	return schema_enter_scope(c, c->location[parent].scope, loc);
}

int schema_literal(struct schema *c, uint32_t loc, const struct json *v, int neg, uint32_t *lit)
{
	TRY(schema_child(c, loc, v, lit));
	*lit = *lit * 2 + (uint32_t)neg;
	return INFER_OK;
}

/* Set c->scoped and make scope 0, once all anchors are known. */
static int scopes_begin(struct schema *c)
{
	uint32_t *none;

	for (uint32_t i = 0; i < c->n_anchors; i++)
		for (uint32_t k = 0; k < i; k++)
			c->scoped |= c->anchor[i].dynamic && c->anchor[k].dynamic &&
			             c->anchor[i].nth == c->anchor[k].nth;
	if (!c->scoped)
		return INFER_OK;
	TRY(work_alloc(&c->w, &none, c->n_names, sizeof *none));
	for (uint32_t i = 0; i < c->n_names; i++)
		none[i] = NOWHERE;
	TRY(work_grow(&c->w, &c->scope, &c->cap_scopes, 1, sizeof *c->scope));
	c->scope[c->n_scopes++] = none;
	return INFER_OK;
}

int schema_knows(int draft, const struct keyword_row *row)
{
	const int bit = draft == SCHEMA_4      ? IN_4
	                : draft == SCHEMA_6    ? IN_6
	                : draft == SCHEMA_7    ? IN_7
	                : draft == SCHEMA_2019 ? IN_2019
	                                       : IN_2020;

	return row->drafts & bit;
}

int schema_draft_at(const struct schema *c, uint32_t loc)
{
	return c->resource[c->location[loc].resource].draft;
}

static int new_resource(struct schema *c, const struct json *root, const char *uri, uint32_t n,
                        int draft, uint32_t *out)
{
	TRY(work_grow(&c->w, &c->resource, &c->cap_resources, c->n_resources + 1,
	              sizeof *c->resource));
	while (n && uri[n - 1] == '#')
		n--;
	for (uint32_t i = 0; i < c->n_resources && n; i++)
		if (c->resource[i].n == n && !memcmp(c->resource[i].uri, uri, n) &&
		    !schema_equal(c->resource[i].root, root))
			c->resource[i].ambiguous = 1;
	c->resource[c->n_resources] = (struct resource){ uri, n, root, draft, 0 };
	*out = c->n_resources++;
	return INFER_OK;
}

static int new_anchor(struct schema *c, const struct json *name, uint32_t skip,
                      const struct json *at, uint32_t resource, int dynamic)
{
	uint32_t nth = NOWHERE;

	for (const struct anchor *b = NULL; (b = next_anchor(c, b));)
		if (dynamic && b->dynamic && b->name->n == name->n &&
		    !memcmp(b->name->s, name->s, name->n))
			nth = b->nth;
	TRY(work_steps(&c->w, c->n_anchors));
	if (dynamic && c->scanned && (c->scoped || nth != NOWHERE))
		return schema_fail(c, INFER_EUNSUP, name,
		                   "a dynamic anchor in a schema that only a JSON pointer refers "
		                   "to is not supported");
	if (dynamic && nth == NOWHERE)
		nth = c->n_names++;
	TRY(work_grow(&c->w, &c->anchor, &c->cap_anchors, c->n_anchors + 1, sizeof *c->anchor));
	c->anchor[c->n_anchors++] = (struct anchor){ name, at, skip, resource, dynamic, nth };
	return INFER_OK;
}

/* Resolve a URI reference against the URI of a resource. */
static int resolve_uri(struct schema *c, uint32_t resource, const char *ref, size_t n,
                       const char **out, uint32_t *out_n)
{
	const struct resource *r = c->resource + resource;
	char *to, *path;

	TRY(work_alloc(&c->w, &to, r->n + n + URI_EXTRA, 1));
	TRY(work_alloc(&c->w, &path, r->n + n + URI_EXTRA, 1));
	*out_n = (uint32_t)uri_resolve(to, path, r->uri, r->n, ref, n);
	*out = to;
	return INFER_OK;
}

static int read_identifiers(struct schema *c, uint32_t at)
{
	static const struct json recursive = { .kind = JSON_STRING, .s = "" };
	uint32_t r = c->location[at].resource, n;
	int draft = c->resource[r].draft;
	const struct json *v = c->location[at].v,
			  *id = json_get(v, draft == SCHEMA_4 ? "id" : "$id"),
			  *a = json_get(v, "$anchor"), *d = json_get(v, "$dynamicAnchor");
	const char *uri;

	if (draft_hides(draft) && json_get(v, "$ref"))
		return INFER_OK;
	if (json_is_string(id) && id->n && id->s[0] == '#' && draft_hides(draft))
		return new_anchor(c, id, 1, v, r, 0);
	/* the resource of a metaschema exists before its root is scanned */
	if (json_is_string(id) && (v == c->root ? id->n : v != c->resource[r].root)) {
		TRY(resolve_uri(c, r, id->s, id->n, &uri, &n));
		TRY(schema_draft_of(c, v, draft, &draft));
		if (v == c->root) {
			while (n && uri[n - 1] == '#')
				n--;
			c->resource[0].uri = uri;
			c->resource[0].n = n;
		} else {
			TRY(new_resource(c, v, uri, n, draft, &r));
		}
		c->location[at].resource = r;
	}
	if (draft_hides(draft))
		return INFER_OK;
	if (json_is_string(a))
		TRY(new_anchor(c, a, 0, v, r, 0));
	if (draft == SCHEMA_2019 && v == c->resource[r].root &&
	    json_is(json_get(v, "$recursiveAnchor"), JSON_TRUE))
		return new_anchor(c, &recursive, 0, v, r, 1);
	if (draft == DRAFT_2020 && json_is_string(d))
		TRY(new_anchor(c, d, 0, v, r, 1));
	return INFER_OK;
}

/* Add the locations of the subschemas in a keyword's value. */
static int locate_children(struct schema *c, const struct json *v, enum keyword_value h,
                           uint32_t resource)
{
	uint32_t loc;

	if (h == V_SCHEMA || (h == V_ITEMS && !json_is_array(v)))
		return schema_locate(c, v, resource, 0, &loc);
	if (h != V_SCHEMAS && h != V_SCHEMA_MAP && h != V_DEPENDENCIES && h != V_ITEMS)
		return INFER_OK;
	json_each(e, v) {
		if (h == V_DEPENDENCIES && json_is_array(e)) {
			if (!keyword_is_strings(e))
				return schema_fail(c, INFER_EINVAL, e,
				                   "must be a schema or an array of strings");
			continue;
		}
		TRY(schema_locate(c, e, resource, 0, &loc));
	}
	return INFER_OK;
}

/* Remember a reference with a URI. It is resolved after the whole document is scanned. */
static int note_remote_ref(struct schema *c, const struct json *m, uint32_t resource)
{
	if (!m->n || *m->s == '#')
		return INFER_OK;
	TRY(work_grow(&c->w, &c->remote_ref, &c->cap_remote_refs, c->n_remote_refs + 1,
	              sizeof *c->remote_ref));
	c->remote_ref[c->n_remote_refs++] = (struct remote_ref){ m, resource };
	return INFER_OK;
}

static int scan_one(struct schema *c, uint32_t at)
{
	const struct json *v = c->location[at].v;
	int draft, hidden;

	if (json_is_bool(v))
		return INFER_OK;
	if (!json_is_object(v))
		return schema_fail(c, INFER_EINVAL, v, "is not a schema");
	TRY(read_identifiers(c, at));
	draft = schema_draft_at(c, at);
	hidden = draft_hides(draft) && json_get(v, "$ref");
	json_each(m, v) {
		const struct keyword_row *row = keyword_find(m);
		const char *what;

		TRY(work_steps(&c->w, 8));
		if (hidden && row && strcmp(row->name, "definitions") != 0 &&
		    strcmp(row->name, "$ref") != 0)
			continue;
		if (!row || !schema_knows(draft, row)) {
			TRY(schema_check_unknown(c, v, m, row));
			continue;
		}
		what = schema_mistake(m, row, draft);
		if (what && row->value == V_FALSE && c->opts.lax) {
			schema_ignore(c, m);
			continue;
		}
		c->older = what ? schema_older_draft(c, m, row) : 0;
		if (what)
			return schema_fail(c, row->value == V_FALSE ? INFER_EUNSUP : INFER_EINVAL,
			                   m, "%s", what);
		if (row->value == V_FORMAT)
			schema_check_format(c, m);
		if (row->value == V_REFERENCE)
			TRY(note_remote_ref(c, m, c->location[at].resource));
		TRY(locate_children(c, m, (enum keyword_value)row->value,
		                    c->location[at].resource));
	}
	return INFER_OK;
}

/* New locations are appended while the loop runs. */
static int scan_from(struct schema *c, uint32_t first)
{
	for (uint32_t i = first; i < c->n_locations; i++)
		if (!c->location[i].constant)
			TRY(scan_one(c, i));
	return INFER_OK;
}

static uint32_t resource_of(const struct schema *c, const char *uri, size_t n)
{
	for (uint32_t r = 0; r < c->n_resources; r++)
		if (c->resource[r].n == n && !memcmp(c->resource[r].uri, uri, n))
			return r;
	return NOWHERE;
}

/* Return the resource of a reference's URI: one of the document, or a metaschema, whose location is
 * added. NOWHERE: another document. */
static int resolve_address(struct schema *c, uint32_t from, const struct json *ref, uint32_t *out)
{
	const char *sharp = memchr(ref->s, '#', ref->n), *uri;
	const struct metaschema *m;
	const struct json *root;
	uint32_t n, loc;

	TRY(resolve_uri(c, from, ref->s, sharp ? (size_t)(sharp - ref->s) : ref->n, &uri, &n));
	*out = resource_of(c, uri, n);
	if (*out != NOWHERE && c->resource[*out].ambiguous)
		return schema_fail(c, INFER_EINVAL, ref,
		                   "refers to %.*s, the $id of several schemas",
		                   n < 60 ? (int)n : 60, uri);
	m = *out == NOWHERE ? metaschema_find(uri, n) : NULL;
	if (!m)
		return INFER_OK;
	*out = resource_of(c, m->uri, strlen(m->uri));
	if (*out != NOWHERE)
		return INFER_OK;
	TRY(metaschema_read(&c->w, m, &root));
	TRY(new_resource(c, root, m->uri, (uint32_t)strlen(m->uri), m->draft, out));
	return schema_locate(c, root, *out, 0, &loc);
}

/* Scan the metaschemas that are referred to, also by each other. */
static int scan_remote_refs(struct schema *c)
{
	uint32_t resource;

	for (uint32_t i = 0; i < c->n_remote_refs; i++) {
		const uint32_t before = c->n_locations;

		TRY(resolve_address(c, c->remote_ref[i].resource, c->remote_ref[i].ref, &resource));
		TRY(scan_from(c, before));
	}
	return INFER_OK;
}

static int scan_as(struct schema *c, int draft)
{
	static const struct json yes = { .kind = JSON_TRUE };
	uint32_t loc, r;

	c->n_locations = c->n_resources = c->n_anchors = c->n_names = c->n_remote_refs = 0;
	c->older = 0;
	htab_clear(&c->by_value);
	TRY(new_resource(c, c->root, "", 0, draft, &r));
	TRY(schema_locate(c, &yes, 0, 0, &loc));
	TRY(schema_locate(c, &no, 0, 0, &loc));
	TRY(schema_locate(c, c->root, 0, 0, &loc));
	TRY(scan_from(c, 2));
	return scan_remote_refs(c);
}

int schema_scan(struct schema *c)
{
	const size_t told = c->opts.ignored ? c->opts.ignored->len : 0;
	int draft, rc;

	TRY(schema_draft_of(c, c->root, c->opts.draft ? c->opts.draft : DRAFT_2020, &draft));
	rc = scan_as(c, draft);
	while (rc == INFER_EINVAL && c->older && c->older < draft) {
		if (c->opts.ignored)
			c->opts.ignored->len = told;
		draft = c->older;
		rc = scan_as(c, draft);
	}
	TRY(rc);
	c->scanned = 1;
	return scopes_begin(c);
}

/* -- references ----------------------------------------------------------------------------- */

static int hex_value(char ch)
{
	return ch >= '0' && ch <= '9'                 ? ch - '0'
	       : (ch | 32) >= 'a' && (ch | 32) <= 'f' ? (ch | 32) - 'a' + 10
	                                              : -1;
}

/* Decode one reference token of a JSON pointer (%XX, ~0, ~1) into `to`, at most n bytes; returns
 * its length. to may be s. */
static uint32_t decode_step(const char *s, uint32_t n, char *to)
{
	uint32_t len = 0;

	for (uint32_t i = 0; i < n; i++) {
		if (s[i] == '%' && i + 2 < n && hex_value(s[i + 1]) >= 0 &&
		    hex_value(s[i + 2]) >= 0) {
			to[len++] = (char)(hex_value(s[i + 1]) * 16 + hex_value(s[i + 2]));
			i += 2;
		} else {
			to[len++] = s[i];
		}
	}
	n = len;
	len = 0;
	for (uint32_t i = 0; i < n; i++)
		if (to[i] == '~' && i + 1 < n && (to[i + 1] == '0' || to[i + 1] == '1'))
			to[len++] = to[++i] == '0' ? '~' : '/';
		else
			to[len++] = to[i];
	return len;
}

static const struct json *step_into(const struct json *v, const char *s, uint32_t n)
{
	uint32_t i = 0;

	if (json_is_object(v))
		return json_getn(v, s, n);
	if (!json_is_array(v) || !n || n > 9 || (n > 1 && s[0] == '0'))
		return NULL;
	for (uint32_t k = 0; k < n; k++) {
		if (s[k] < '0' || s[k] > '9')
			return NULL;
		i = i * 10 + (uint32_t)(s[k] - '0');
	}
	return json_at(v, i);
}

/* Scan the locations from `first` on, which a reference added. On an error in them, compilation
 * fails even if the caller ignores the error; until then, the schema false replaces them. */
static int scan_target(struct schema *c, uint32_t first)
{
	int rc = scan_from(c, first);

	if (!rc)
		return INFER_OK;
	c->failed = rc;
	if (c->w.err)
		c->why = *c->w.err;
	for (uint32_t i = first; i < c->n_locations; i++)
		c->location[i].v = &no;
	return rc;
}

/* Follow the JSON pointer s[0 .. n) from the root of a resource, possibly into another one. */
static int follow_pointer(struct schema *c, const struct json *ref, uint32_t resource,
                          const char *s, uint32_t n, uint32_t *to)
{
	const struct json *v = c->resource[resource].root;
	const uint32_t before = c->n_locations;
	const struct htab_slot *seat;
	char *step;

	TRY(work_alloc(&c->w, &step, n + 1, 1));
	while (n) {
		uint32_t end = 1;

		while (end < n && s[end] != '/')
			end++;
		/* members are searched one by one */
		TRY(work_steps(&c->w, json_count(v) / 8 + 1));
		v = step_into(v, step, decode_step(s + 1, end - 1, step));
		if (!v)
			return schema_fail(c, INFER_EINVAL, ref,
			                   "there is nothing at this pointer");
		seat = location_find(c, &(struct location){ .v = v });
		if (seat->index != NOWHERE)
			resource = c->location[seat->index].resource;
		s += end;
		n -= end;
	}
	TRY(schema_locate(c, v, resource, 0, to));
	return scan_target(c, before);
}

static const struct anchor *find_anchor(const struct schema *c, uint32_t resource, const char *s,
                                        uint32_t n)
{
	for (const struct anchor *a = NULL; (a = next_anchor(c, a));)
		if (a->resource == resource && a->name->n - a->skip == n &&
		    !memcmp(a->name->s + a->skip, s, n))
			return a;
	return NULL;
}

/* Return the dynamic anchor with the name of a in the outermost resource of the scope that has
 * it. */
static const struct anchor *outermost_anchor(const struct schema *c, uint32_t scope,
                                             const struct anchor *a)
{
	if (!c->scoped || c->scope[scope][a->nth] == NOWHERE)
		return a;
	for (const struct anchor *b = NULL; (b = next_anchor(c, b));)
		if (b->dynamic && b->nth == a->nth && b->resource == c->scope[scope][a->nth])
			return b;
	return a;
}

/* Return the $recursiveAnchor of a resource, or NULL. */
static const struct anchor *recursive_anchor(const struct schema *c, uint32_t resource)
{
	for (const struct anchor *a = NULL; (a = next_anchor(c, a));)
		if (a->dynamic && a->resource == resource && !a->name->n)
			return a;
	return NULL;
}

static int target(struct schema *c, uint32_t loc, const struct json *ref, int dynamic, uint32_t *to)
{
	const uint32_t scope = c->location[loc].scope;
	const uint32_t before = c->n_locations;
	const struct anchor *a;
	uint32_t r = c->location[loc].resource, n = 0, rest;
	const char *s = ref->s;

	while (n < ref->n && s[n] != '#')
		n++;
	rest = ref->n - n;
	if (n) {
		TRY(resolve_address(c, r, ref, &r));
		if (r == NOWHERE)
			return schema_fail(c, INFER_EUNSUP, ref,
			                   "refers to another document, %.*s: not supported",
			                   n < 60 ? (int)n : 60, s);
		TRY(scan_target(c, before));
	}
	s += n + (rest > 0);
	rest -= rest > 0;
	a = dynamic && !rest ? recursive_anchor(c, r) : NULL;
	if (!a && (!rest || *s == '/'))
		return follow_pointer(c, ref, r, s, rest, to);
	if (!a)
		a = find_anchor(c, r, s, rest);
	if (!a)
		return schema_fail(c, INFER_EINVAL, ref, "there is no such anchor");
	if (dynamic && a->dynamic)
		a = outermost_anchor(c, scope, a);
	return schema_locate(c, a->at, a->resource, 0, to);
}

int schema_resolve(struct schema *c, uint32_t loc, const struct json *ref, int dynamic,
                   uint32_t *to)
{
	const uint32_t scope = c->location[loc].scope;

	TRY(target(c, loc, ref, dynamic, to));
	return schema_enter_scope(c, scope, to);
}
