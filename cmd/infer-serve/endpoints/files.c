/* infer-serve/endpoints/files.c - OpenAI's /v1/files, on the directory of --files-dir. */
#include "infer-serve/batch/files.h"
#include "infer-serve/serve.h"
#include "base/err.h"
#include "base/jread.h"
#include "base/jwrite.h"

#include <errno.h>
#include <microhttpd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

endpoint_fn ep_files, ep_file, ep_file_delete;

enum { LIST_MOST = 10000 };
static const char prefix[] = FILES_PREFIX, owner_key[] = "owner";

/* ---- objects ---- */

int files_describe(struct store *s, const char *name, const char *owner, int64_t bytes,
                   const char *filename, const char *purpose, infer_error *err)
{
	char path[STORE_NAME + 8];
	struct jwrite w;
	struct buf b;
	int rc;

	snprintf(path, sizeof path, "%s.json", name);
	buf_init(&b, MEM_BASE);
	jw_init(&w, &b);
	jw_object(&w, NULL);
	jw_str(&w, "id", name);
	jw_str(&w, "object", "file");
	jw_int(&w, "bytes", bytes);
	jw_int(&w, "created_at", (int64_t)time(NULL));
	jw_null(&w, "expires_at");
	jw_str(&w, "filename", filename);
	jw_str(&w, "purpose", purpose);
	jw_str(&w, "status", "processed");
	jw_null(&w, "status_details");
	if (*owner)
		jw_str(&w, owner_key, owner);
	jw_end(&w);
	rc = b.bad ? err_set(err, INFER_ENOMEM, "out of memory for a file")
	           : store_put(s, path, b.at, b.len, err);
	buf_fini(&b);
	return rc;
}

/* Everything but the owner. */
static int show(struct buf *to, const struct buf *text, const char *name, const char *owner,
                infer_error *err)
{
	const struct json *o, *of;
	struct arena mem;
	struct jwrite w;

	arena_init(&mem, MEM_BASE);
	int rc = jread(&o, &mem, text->at ? text->at : "", text->len, name, err);

	of = rc ? NULL : json_get(o, owner_key);
	if (!rc && (of ? !json_equals(of, owner) : *owner != 0))
		rc = err_set(err, INFER_EIO, "there is no file %s", name);
	if (!rc) {
		jw_init(&w, to);
		jw_object(&w, NULL);
		json_each(v, o)
			if (v != of)
				jw_value(&w, arena_strndup(&mem, v->key, v->key_n), v);
		jw_end(&w);
	}
	to->bad |= mem.bad;
	arena_fini(&mem);
	return rc;
}

int files_said(const struct store *s, const char *name, const char *owner, struct buf *to,
               infer_error *err)
{
	char path[STORE_NAME + 8];
	struct buf text;

	snprintf(path, sizeof path, "%s.json", name);
	buf_init(&text, MEM_BASE);
	int rc = store_get(s, path, &text, err);

	if (!rc)
		rc = show(to, &text, name, owner, err);
	buf_fini(&text);
	return rc;
}

int files_of(const struct exchange *x, const char *name)
{
	const struct store *s = &x->server->store;
	struct buf text;

	if (!store_is_name(name, prefix) || store_bytes(s, name) < 0)
		return 0;
	buf_init(&text, MEM_BASE);
	int rc = files_said(s, name, x->owner, &text, NULL);

	buf_fini(&text);
	return !rc;
}

/* ---- what is there ---- */

struct entry {
	int64_t created;
	char name[STORE_NAME];
};
struct list {
	const struct store *s;
	const char *purpose, *owner; /* purpose NULL: all */
	struct buf entries;
};

static int add_entry(void *user, const char *name)
{
	struct list *l = user;
	struct entry e = { .created = 0 };
	const struct json *o;
	struct arena mem;
	struct buf text;

	arena_init(&mem, MEM_BASE);
	buf_init(&text, MEM_BASE);
	snprintf(e.name, sizeof e.name, "%s", name);
	if (!files_said(l->s, name, l->owner, &text, NULL) &&
	    !jread(&o, &mem, text.at, text.len, "file", NULL) &&
	    (!l->purpose || json_equals(json_get(o, "purpose"), l->purpose))) {
		(void)jread_i64(o, "created_at", &e.created, 0, INT64_MAX, "file", NULL);
		buf_put(&l->entries, &e, sizeof e);
	}
	buf_fini(&text);
	arena_fini(&mem);
	return 0;
}

/* The newest first. */
static int newer(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	return x->created != y->created ? (x->created < y->created) - (x->created > y->created)
	                                : strcmp(x->name, y->name);
}

void ep_files(struct exchange *x)
{
	struct list l = { .s = &x->server->store, .purpose = x->query.purpose, .owner = x->owner };
	struct jwrite w;
	int64_t put = 0, most = x->query.limit ? x->query.limit : LIST_MOST;
	const struct entry *e;
	size_t n, i = 0;
	struct buf text;

	buf_init(&l.entries, MEM_BASE);
	(void)store_each(l.s, prefix, add_entry, &l);
	e = (const struct entry *)(const void *)l.entries.at;
	n = l.entries.bad ? 0 : l.entries.len / sizeof *e;
	if (n)
		qsort(l.entries.at, n, sizeof *e, newer);
	if (x->query.after) {
		while (i < n && strcmp(e[i].name, x->query.after))
			i++;
		i += i < n;
	}
	jw_init(&w, &x->out);
	jw_object(&w, NULL);
	jw_str(&w, "object", "list");
	jw_array(&w, "data");
	size_t first = i;

	buf_init(&text, MEM_BASE);
	for (; i < n && put < most; i++) {
		buf_clear(&text);
		if (files_said(l.s, e[i].name, x->owner, &text, NULL)) /* it was deleted just now */
			continue;
		jw_raw(&w, NULL, text.at, text.len);
		put++;
	}
	buf_fini(&text);
	jw_end(&w);
	jw_str(&w, "first_id", put ? e[first].name : NULL);
	jw_str(&w, "last_id", put ? e[i - 1].name : NULL);
	jw_bool(&w, "has_more", i < n);
	jw_end(&w);
	x->out.bad |= l.entries.bad;
	buf_fini(&l.entries);
	exchange_answer(x, 200, exchange_json);
	exchange_done(x);
}

/* The name in the path, without `tail`; 0: there is no such file, and that was answered. */
static int named(struct exchange *x, const char *tail, char name[STORE_NAME])
{
	size_t n = strlen(x->rest), k = strlen(tail);

	n = n > k && !strcmp(x->rest + n - k, tail) ? n - k : n;
	snprintf(name, STORE_NAME, "%.*s", n < STORE_NAME ? (int)n : STORE_NAME - 1, x->rest);
	if (n < STORE_NAME && files_of(x, name))
		return 1;
	exchange_refuse(x, INFER_FAULT_NOT_FOUND, "file_id", "there is no file %.80s", name);
	return 0;
}

void ep_file(struct exchange *x)
{
	static const char content[] = "/content";
	char name[STORE_NAME];
	infer_error err;
	size_t n = strlen(x->rest), k = sizeof content - 1;

	if (!named(x, content, name)) {
		exchange_done(x);
		return;
	}
	if (n > k && !strcmp(x->rest + n - k, content)) {
		x->file = store_read(&x->server->store, name);
		if (x->file < 0)
			exchange_refuse(x, INFER_FAULT_NOT_FOUND, "file_id", "%s is gone", name);
		else
			exchange_answer(x, 200, "application/octet-stream");
	} else if (files_said(&x->server->store, name, x->owner, &x->out, &err)) {
		exchange_refuse(x, INFER_FAULT_SERVER, NULL, "%s", err.message);
	} else {
		exchange_answer(x, 200, exchange_json);
	}
	exchange_done(x);
}

/* The contents of a file; libmicrohttpd closes it. */
struct MHD_Response *files_response(struct exchange *x)
{
	struct stat st;
	struct MHD_Response *r = NULL;

	if (!fstat(x->file, &st)) {
		r = MHD_create_response_from_fd64((uint64_t)st.st_size, x->file);
		x->sent = x->head ? 0 : (int64_t)st.st_size;
	}
	if (r)
		x->file = -1;
	return r;
}

void ep_file_delete(struct exchange *x)
{
	char name[STORE_NAME], path[STORE_NAME + 8];
	struct jwrite w;

	if (named(x, "", name)) {
		snprintf(path, sizeof path, "%s.json", name);
		if (store_remove(&x->server->store, name)) {
			exchange_refuse(x, INFER_FAULT_SERVER, NULL, "%s: %s", name,
			                strerror(errno));
		} else {
			(void)store_remove(&x->server->store, path);
			jw_init(&w, &x->out);
			jw_object(&w, NULL);
			jw_str(&w, "id", name);
			jw_str(&w, "object", "file");
			jw_bool(&w, "deleted", 1);
			jw_end(&w);
			exchange_answer(x, 200, exchange_json);
		}
	}
	exchange_done(x);
}
