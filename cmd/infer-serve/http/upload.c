/* infer-serve/http/upload.c - forms with a file, which arrive in pieces on the HTTP thread. */
#include "infer-serve/http/upload.h"
#include "infer-serve/http/request.h"

#include <microhttpd.h>
#include <string.h>
#include <strings.h>

enum { PIECE = 32 << 10 };

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

/* Called by libmicrohttpd with n bytes of a part, at offset `off`. */
static enum MHD_Result on_part(void *user, enum MHD_ValueKind kind, const char *key,
                               const char *filename, const char *type, const char *encoding,
                               const char *data, uint64_t off, size_t n)
{
	struct upload *u = user;

	(void)kind, (void)type, (void)encoding;
	if (u->err.code || !key)
		return MHD_YES;
	if (!strcmp(key, "purpose")) {
		append_field(u->purpose, u, data, n);
	} else if (!strcmp(key, "file")) {
		if (!off && !u->files++ && filename)
			append_field(u->filename, u, filename, strlen(filename));
		if (u->fd < 0)
			u->fd = store_begin(u->store, u->temporary, &u->err);
		if (u->fd >= 0 && n)
			(void)store_write(u->fd, data, n, "the upload", &u->err);
		u->bytes += (int64_t)n;
	}
	return MHD_YES;
}

/* Returns NULL if out of memory, or if the Content-Type has no boundary. */
static struct upload *upload_new(struct store *s, struct MHD_Connection *c)
{
	struct upload *u = mem_zalloc(MEM_BASE, 1, sizeof *u);

	if (!u)
		return NULL;
	u->store = s;
	u->fd = -1;
	u->post = MHD_create_post_processor(c, PIECE, on_part, u);
	if (u->post)
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
	r->upload = upload_new(&r->api.server->store, c);
	return r->upload ? NULL : "the form cannot be read: it has no boundary";
}

void upload_put(struct upload *u, const char *at, size_t n)
{
	if (!u->is_broken && MHD_post_process(u->post, at, n) != MHD_YES)
		u->is_broken = 1;
}

void upload_end(struct upload *u)
{
	if (MHD_destroy_post_processor(u->post) != MHD_YES)
		u->is_broken = 1;
	u->post = NULL;
}

void upload_free(struct upload **at)
{
	struct upload *u = *at;

	*at = NULL;
	if (!u)
		return;
	if (u->post)
		(void)MHD_destroy_post_processor(u->post);
	if (u->fd >= 0)
		store_drop(u->store, u->fd, u->temporary);
	mem_free(u);
}
