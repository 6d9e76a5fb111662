/* infer-serve/http/upload.c - forms with a file, which arrive in pieces on the HTTP thread. */
#include "infer-serve/http/upload.h"
#include "infer-serve/http/request.h"

#include <microhttpd.h>
#include <string.h>
#include <strings.h>

static void append_field(char to[UPLOAD_FIELD], struct upload *u, const char *at, size_t n)
{
	size_t have = strlen(to);

	if (have + n >= UPLOAD_FIELD || memchr(at, 0, n)) {
		u->is_too_long = 1;
		return;
	}
	memcpy(to + have, at, n);
	to[have + n] = 0;
}

static void begin_upload_part(void *user, const char *name, const char *filename)
{
	struct upload *u = user;

	u->part = !strcmp(name, "purpose") ? UPLOAD_PURPOSE
	          : !strcmp(name, "file")  ? UPLOAD_FILE
	                                   : UPLOAD_OTHER;
	if (u->part != UPLOAD_FILE)
		return;
	if (!u->files++ && filename)
		append_field(u->filename, u, filename, strlen(filename));
	if (u->fd < 0 && !u->err.code)
		u->fd = store_begin(u->store, u->temporary, &u->err);
}

static void put_upload_part(void *user, const char *at, size_t n)
{
	struct upload *u = user;

	if (u->part == UPLOAD_PURPOSE)
		append_field(u->purpose, u, at, n);
	if (u->part != UPLOAD_FILE || u->err.code)
		return;
	(void)store_write(u->fd, at, n, "the upload", &u->err);
	u->bytes += (int64_t)n;
}

static const struct form_calls calls = { begin_upload_part, put_upload_part };

/* Returns NULL if out of memory, or if the Content-Type has no boundary. */
static struct upload *upload_new(struct store *s, const char *type)
{
	struct upload *u = mem_zalloc(MEM_BASE, 1, sizeof *u);

	if (!u)
		return NULL;
	u->store = s;
	u->fd = -1;
	if (form_open(&u->form, type, &calls, u))
		return u;
	mem_free(u);
	return NULL;
}

uint64_t upload_most(const struct http_request *r)
{
	const struct serve_opts *o = r->api.server->o;

	return r->endpoint && r->endpoint->flags & EP_UPLOAD ? o->max_file : o->max_body;
}

const char *upload_begin(struct http_request *r, struct MHD_Connection *c, int64_t length,
                         int *kind)
{
	static const char form[] = "multipart/form-data";
	const char *type = MHD_lookup_connection_value(c, MHD_HEADER_KIND, "Content-Type");

	*kind = INFER_FAULT_MEDIA_TYPE;
	if (!type || strncasecmp(type, form, sizeof form - 1))
		return "the body must be multipart/form-data";
	*kind = INFER_FAULT_TOO_LARGE;
	if (length > (int64_t)upload_most(r))
		return "the body is longer than --max-file";
	*kind = INFER_FAULT_INVALID;
	r->upload = upload_new(&r->api.server->store, type);
	return r->upload ? NULL : "the form cannot be read: it has no boundary";
}

void upload_put(struct upload *u, const char *at, size_t n) { form_put(&u->form, at, n); }

int upload_is_whole(const struct upload *u) { return u->form.state == FORM_ENDED; }

void upload_free(struct upload **at)
{
	struct upload *u = *at;

	*at = NULL;
	if (!u)
		return;
	if (u->fd >= 0)
		store_drop(u->store, u->fd, u->temporary);
	mem_free(u);
}
