/* infer-serve/endpoints/file_upload.c - POST /v1/files: store the file of a form. */
#include "infer-serve/batch/files.h"
#include "infer-serve/http/request.h"
#include "infer-serve/http/upload.h"
#include "base/err.h"
#include "base/utf8.h"

#include <string.h>

endpoint_fn ep_file_upload;

/* Return why the form is refused and set *param to the part at fault; NULL: it is accepted. */
static const char *check_form(const struct upload *u, const char **param)
{
	static const char *const purposes[] = { "batch",  "assistants", "fine-tune",
		                                "vision", "user_data",  "evals" };
	size_t i = 0;

	*param = NULL;
	if (!upload_is_whole(u))
		return "the body must be a complete form";
	*param = "file";
	if (!u->files)
		return "file is missing";
	if (u->files > 1)
		return "only one file is accepted";
	*param = "purpose";
	if (!*u->purpose)
		return "purpose is missing";
	while (i < sizeof purposes / sizeof *purposes && strcmp(purposes[i], u->purpose))
		i++;
	if (i == sizeof purposes / sizeof *purposes)
		return "purpose must be batch, assistants, fine-tune, vision, user_data or evals";
	*param = "file";
	return u->is_too_long || utf8_check(u->filename, strlen(u->filename)) != strlen(u->filename)
	               ? "the name of the file must be UTF-8 of less than 512 bytes"
	               : NULL;
}

/* Give the file its final name and write its description.
 * INFER_EAGAIN  the disk is full; INFER_EINVAL the file is empty; INFER_EIO INFER_ENOMEM */
static int keep_file(const struct http_request *r, struct upload *u, char name[STORE_NAME],
                     infer_error *err)
{
	if (u->err.code)
		return err_set(err, u->err.code, "%s", u->err.message);
	if (!u->bytes)
		return err_set(err, INFER_EINVAL, "the file is empty");
	store_name(u->store, name, FILES_PREFIX);
	TRY(files_describe(u->store, name, r->api.caller.group, u->bytes,
	                   *u->filename ? u->filename : "file", u->purpose, err));
	int fd = u->fd;

	u->fd = -1;
	return store_keep(u->store, fd, u->temporary, name, err);
}

void ep_file_upload(struct http_request *r)
{
	struct upload *u = r->upload;
	char name[STORE_NAME];
	const char *param, *why;
	infer_error err = { 0 };
	int rc;

	why = check_form(u, &param);
	if (why) {
		api_refuse(&r->api, INFER_FAULT_INVALID, param, "%s", why);
	} else if ((rc = keep_file(r, u, name, &err)) ||
	           (rc = files_read(&r->api.server->store, name, r->api.caller.group, &r->out,
	                            &err))) {
		api_refuse(&r->api,
		           rc == INFER_EAGAIN ? INFER_FAULT_UNAVAILABLE : infer_fault_kind(rc),
		           "file", "%s", err.message);
	} else {
		http_answer(r, 200, http_json);
	}
}
