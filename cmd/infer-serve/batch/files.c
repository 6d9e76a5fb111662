/* infer-serve/batch/files.c - OpenAI's file objects. */
#include "infer-serve/batch/files.h"
#include "base/arena.h"
#include "base/err.h"
#include "base/jread.h"
#include "base/jwrite.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

static const char owner_key[] = "owner";

int files_describe(struct store *s, const char *name, const char *group, int64_t bytes,
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
	if (*group)
		jw_str(&w, owner_key, group);
	jw_end(&w);
	rc = b.bad ? err_set(err, INFER_ENOMEM, "out of memory for a file")
	           : store_put(s, path, b.at, b.len, err);
	buf_fini(&b);
	return rc;
}

/* Append the members of a description except the owner. */
static int copy_description(struct buf *to, const struct buf *text, const char *name,
                            const char *group, infer_error *err)
{
	const struct json *o, *owner;
	struct arena mem;
	struct jwrite w;

	arena_init(&mem, MEM_BASE);
	int rc = jread(&o, &mem, text->at ? text->at : "", text->len, name, err);

	owner = rc ? NULL : json_get(o, owner_key);
	if (!rc && (owner ? !json_equals(owner, group) : *group != 0))
		rc = err_set(err, INFER_EIO, "there is no file %s", name);
	if (!rc) {
		jw_init(&w, to);
		jw_object(&w, NULL);
		json_each(v, o)
			if (v != owner)
				jw_value(&w, arena_strndup(&mem, v->key, v->key_n), v);
		jw_end(&w);
	}
	to->bad |= mem.bad;
	arena_fini(&mem);
	return rc;
}

int files_read(const struct store *s, const char *name, const char *group, struct buf *to,
               infer_error *err)
{
	char path[STORE_NAME + 8];
	struct buf text;

	snprintf(path, sizeof path, "%s.json", name);
	buf_init(&text, MEM_BASE);
	int rc = store_get(s, path, &text, err);

	if (!rc)
		rc = copy_description(to, &text, name, group, err);
	buf_fini(&text);
	return rc;
}

int files_has(const struct store *s, const char *name, const char *group)
{
	struct buf text;

	if (!store_is_name(name, FILES_PREFIX) || store_bytes(s, name) < 0)
		return 0;
	buf_init(&text, MEM_BASE);
	int rc = files_read(s, name, group, &text, NULL);

	buf_fini(&text);
	return !rc;
}
