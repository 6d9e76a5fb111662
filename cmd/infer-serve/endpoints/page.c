/* infer-serve/endpoints/page.c - the page: the three files of page/, linked into .rodata. */
#include "infer-serve/http/request.h"

endpoint_fn ep_page, ep_page_style, ep_page_script;

#define FILE_IN(name, path) \
	__asm__(".pushsection .rodata.page, \"a\", %progbits\n" #name "_first: .incbin \"" path \
	        "\"\n" #name "_last: .byte 0\n.popsection\n"); \
	extern const char name##_first[] __attribute__((visibility("hidden"))); \
	extern const char name##_last[] __attribute__((visibility("hidden")))
FILE_IN(page_html, "cmd/infer-serve/page/index.html");
FILE_IN(page_css, "cmd/infer-serve/page/page.css");
FILE_IN(page_js, "cmd/infer-serve/page/page.js");

static void answer_file(struct http_request *r, const char *first, const char *last,
                        const char *type)
{
	r->is_page = 1;
	buf_put(&r->out, first, (size_t)(last - first));
	http_answer(r, 200, type);
}

void ep_page(struct http_request *r)
{
	answer_file(r, page_html_first, page_html_last, "text/html; charset=utf-8");
}

void ep_page_style(struct http_request *r)
{
	answer_file(r, page_css_first, page_css_last, "text/css; charset=utf-8");
}

void ep_page_script(struct http_request *r)
{
	answer_file(r, page_js_first, page_js_last, "text/javascript; charset=utf-8");
}
