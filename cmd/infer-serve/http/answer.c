/* infer-serve/http/answer.c - send the answer of a request to its connection. */
#include "infer-serve/http/answer.h"
#include "infer-serve/http/headers.h"
#include "infer-serve/http/http.h"
#include "infer-serve/http/sse.h"

#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>

enum { BLOCK = 16 << 10 };

/* Copy the next events of a stream, or suspend the connection until the stream has new events. Called by
 * libmicrohttpd when the socket is writable. */
static ssize_t read_stream(void *user, uint64_t at, char *to, size_t room)
{
	struct http_request *r = user;
	struct server *s = r->api.server;
	ssize_t n = 0;

	(void)at;
	pthread_mutex_lock(&s->lock);
	if (r->out.len > r->out_sent && !r->api.is_gone) {
		size_t left = r->out.len - r->out_sent;

		n = (ssize_t)sse_cut(r->out.at + r->out_sent, left, room);
		memcpy(to, r->out.at + r->out_sent, (size_t)n);
		r->out_sent += (size_t)n;
		r->answer_bytes += n;
		if (r->out_sent == r->out.len) {
			buf_clear(&r->out);
			r->out_sent = 0;
		}
	} else if (r->api.is_gone || s->closing) {
		n = MHD_CONTENT_READER_END_WITH_ERROR;
	} else if (r->is_ended) {
		n = MHD_CONTENT_READER_END_OF_STREAM;
	} else {
		r->link.is_suspended = 1;
		MHD_suspend_connection(r->link.connection);
	}
	pthread_mutex_unlock(&s->lock);
	return n;
}

/* Create a response with the contents of r->file, which libmicrohttpd closes. */
static struct MHD_Response *create_file_response(struct http_request *r)
{
	struct MHD_Response *response = NULL;
	struct stat st;

	if (!fstat(r->file, &st)) {
		response = MHD_create_response_from_fd64((uint64_t)st.st_size, r->file);
		r->answer_bytes = r->head.is_head ? 0 : (int64_t)st.st_size;
	}
	if (response)
		r->file = -1;
	return response;
}

enum MHD_Result answer_send(struct http_request *r, struct MHD_Connection *c)
{
	int is_file = r->file >= 0;
	struct MHD_Response *response =
		is_file ? create_file_response(r)
		: r->stage == STAGE_STREAM
			? MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, BLOCK, read_stream, r,
	                                                    NULL)
			: MHD_create_response_from_buffer(r->out.len, r->out.at ? r->out.at : "",
	                                                  MHD_RESPMEM_PERSISTENT);
	enum MHD_Result ok;

	if (!response)
		return MHD_NO;
	headers_put(response, r);
	if (r->stage == STAGE_ANSWER && !is_file)
		r->answer_bytes = r->head.is_head ? 0 : (int64_t)r->out.len;
	ok = MHD_queue_response(c, (unsigned)r->status, response);
	MHD_destroy_response(response);
	return ok;
}

enum MHD_Result answer_preflight(struct http_request *r, struct MHD_Connection *c)
{
	struct MHD_Response *response =
		MHD_create_response_from_buffer(0, "", MHD_RESPMEM_PERSISTENT);
	enum MHD_Result ok;

	if (!response)
		return MHD_NO;
	r->status = 200;
	r->stage = STAGE_ANSWER;
	headers_put(response, r);
	MHD_add_response_header(response, "Access-Control-Allow-Credentials", "true");
	MHD_add_response_header(response, "Access-Control-Allow-Methods",
	                        strstr(r->allow, "DELETE") ? "GET, POST, DELETE" : "GET, POST");
	MHD_add_response_header(response, "Access-Control-Allow-Headers", "*");
	MHD_add_response_header(response, "Allow", r->allow);
	ok = MHD_queue_response(c, 200, response);
	MHD_destroy_response(response);
	return ok;
}

void answer_raw(struct http_request *r, int kind, const char *reason, const char *message)
{
	struct infer_fault f = { .kind = kind };
	struct buf error, all;

	snprintf(f.error.message, sizeof f.error.message, "%s", message);
	buf_init(&error, MEM_BASE);
	buf_init(&all, MEM_BASE);
	api_put_error(&error, &r->api, &f);
	buf_printf(&all,
	           "HTTP/1.1 %d %s\r\nServer: infer-serve\r\nX-Request-Id: %s\r\nContent-Type: "
	           "%s\r\nContent-Length: %zu\r\nConnection: close\r\n\r\n",
	           infer_fault_status(kind), reason, r->api.id, http_json, error.len);
	buf_put(&all, error.at ? error.at : "", error.len);
	/* under TLS only libmicrohttpd can write: the connection ends without an answer */
	if (!error.bad && !all.bad && !http_has_tls(r->api.server) &&
	    send(r->link.fd, all.at, all.len, MSG_DONTWAIT | MSG_NOSIGNAL) < 0) {
		/* the client is gone or does not read: the connection ends without an answer */
	}
	r->status = infer_fault_status(kind);
	r->link.is_raw = 1;
	r->link.deadline_ns = 0;
	shutdown(r->link.fd, SHUT_RDWR);
	buf_fini(&error);
	buf_fini(&all);
}
