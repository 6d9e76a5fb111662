"""Conversations with tools for the built-in model: talk(rng, other) makes one, as pieces (text, is it learnt?).

The model learns the shape of it: to call a tool, what of the question its arguments are, and to say what a tool answered.  Hence the
tools are thousands of random ones besides those that people write in their first try, and most values are words without a meaning,
which can only be copied.  Some conversations end with a call of a tool for the answer, as agent libraries have it, some tools take what
a text says, some prompts have a JSON Schema in place of tools, and some are lists of words, which are copied from one form to another.
CASES are asked when the model has been trained; no tool of theirs is made here."""
import json
import demo_other

CONSONANTS, VOWELS = "b c d f g h j k l m n p r s t v w z br ch cr dr fl gr kl pr sh st th tr".split(), "a e i o u ai ea oo".split()
FIRST = "Jason Emma Liam Noah Mia Zoe Adam Nina Paul Rita Omar Lena Ivan Kate Hans Mary James Julia Mark Helen Chris Diana Kevin Laura".split()
LAST = "Smith Jones Brown Miller Davis Wilson Moore Taylor Lee Walker Hall Young King Wright Hill Green Baker Adams Nelson Carter Liu Doe".split()
MONTHS = "January February March April May June July August September October November December".split()
UNITS = [["celsius", "fahrenheit"], ["metric", "imperial"], ["low", "medium", "high"], ["small", "medium", "large"], ["on", "off"], ["asc", "desc"],
         ["open", "closed"], ["red", "green", "blue"], ["day", "week", "month"], ["positive", "negative", "neutral"], ["urgent", "normal"]]
SYSTEMS = ["You are a helpful assistant.", "Answer briefly.", "Use the tools.", "Be concise, reply with one sentence.", "Use the tools to answer the question.",
           "You are a weather assistant.", "You are a bank support agent. Help the customer.", "Be concise.", "You are a helpful agent that can call tools.",
           "Extract the data from the text.", "Extract information about the user.", "You are a travel agent.", "Always use a tool."]


def made_up(rng):
    w = "".join(rng.choice(CONSONANTS) + rng.choice(VOWELS) for _ in range(rng.choice([1, 2, 2, 3]))) + rng.choice(["", "", "n", "r", "s", "t", "lk", "nd"])
    return w


def word(rng):
    return rng.choice(demo_other.NOUNS) if rng.random() < 0.4 else made_up(rng)


def name(rng):
    k = rng.random()
    first = rng.choice(FIRST) if k < 0.3 else rng.choice(demo_other.NAMES) if k < 0.5 else made_up(rng).capitalize()
    return first if rng.random() < 0.6 else first + " " + (rng.choice(LAST) if rng.random() < 0.5 else made_up(rng).capitalize())


def city(rng):
    k = rng.random()
    one = rng.choice(demo_other.LANDS) if k < 0.45 else made_up(rng).capitalize()
    return one if rng.random() < 0.85 else rng.choice(["New ", "San ", "North ", "Port "]) + one


def integer(rng):
    return rng.choice([rng.randrange(10), rng.randrange(100), rng.randrange(100), rng.randrange(1000), rng.randrange(100000)])


def number(rng):
    return integer(rng) if rng.random() < 0.4 else round(rng.uniform(-100, 1000) if rng.random() < 0.3 else rng.uniform(0, 100), rng.choice([1, 2]))


def code(rng):
    return "".join(rng.choice("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789") for _ in range(rng.randrange(3, 9)))


def date(rng):
    return "20%02d-%02d-%02d" % (rng.randrange(40), rng.randrange(1, 13), rng.randrange(1, 29))


def words(rng):
    return " ".join(word(rng) for _ in range(rng.choice([2, 2, 3, 4, 5])))


VALUES = {"name": name, "city": city, "int": integer, "num": number, "word": word, "words": words, "code": code, "date": date,
          "email": lambda r: made_up(r) + rng_at(r), "path": lambda r: made_up(r) + r.choice([".txt", ".md", ".py", ".csv", "/" + made_up(r) + ".c"]),
          "expr": lambda r: r.choice(["%d + %d", "%d * %d", "%d - %d", "(%d + 1) * %d", "%d / %d"]) % (integer(r), integer(r)),
          "price": lambda r: round(r.uniform(0, 500), 2), "bool": lambda r: r.random() < 0.5, "url": lambda r: "https://" + made_up(r) + ".com/" + made_up(r)}
TYPES = {"int": "integer", "num": "number", "price": "number", "bool": "boolean"}


def rng_at(rng):
    return "@" + made_up(rng) + rng.choice([".com", ".org", ".net"])


# names | descriptions | parameters: names, separated by /, and their kind | questions
DOMAINS = """
get_weather weather current_weather get_current_weather fetch_weather weather_forecast | Get the weather of a city. ~ Get the current weather in a given location ~ Returns the weather for a city ~ Weather at a place | city/location/place/location_name/town:city | What is the weather in {0}? ~ What's the weather like in {0} today? ~ How is the weather in {0}? ~ what is the weather in {0} ~ Weather in {0}? ~ Is it raining in {0}? ~ Tell me the weather in {0}. ~ Will it be sunny in {0} tomorrow? ~ Do I need an umbrella in {0}?
get_temperature temperature read_temperature | Get the temperature of a city. ~ The temperature at a place | city/location/place:city | How warm is it in {0}? ~ What is the temperature in {0}? ~ How cold is it in {0}? ~ temperature in {0}
get_weather get_forecast forecast | Get the weather forecast. ~ Forecast of some days | city/location:city days/n_days:int | What will the weather be in {0} for the next {1} days? ~ Give me a {1} day forecast for {0}. ~ Forecast for {0}, {1} days
get_time current_time get_current_time time_in | Get the time of a place. ~ Returns the current time in a city ~ Current time | city/timezone/place/location:city | What time is it in {0}? ~ Tell me the time in {0}. ~ What's the time in {0}? ~ time in {0}
add sum add_numbers plus | Add two numbers. ~ Adds a and b. ~ Returns the sum | a/x/first:int b/y/second:int | What is {0} + {1}? ~ What is {0} plus {1}? ~ Add {0} and {1}. ~ Add {0} to {1} ~ What's the sum of {0} and {1}?
multiply times product mul | Multiply two numbers. ~ Multiplies a and b. ~ Returns the product | a/x/first:int b/y/second:int | What is {0} times {1}? ~ What is {0} * {1}? ~ Multiply {0} by {1}. ~ Multiply {0} and {1} ~ {0} x {1}?
subtract minus difference | Subtract two numbers. ~ Subtracts b from a. | a/x:int b/y:int | What is {0} minus {1}? ~ What is {0} - {1}? ~ Calculate {0} minus {1}.
divide quotient | Divide two numbers. ~ Divides a by b. | a/x:int b/y:int | What is {0} divided by {1}? ~ Divide {0} by {1}. ~ What is {0} / {1}?
calculator calculate evaluate compute | Evaluate an expression. ~ Calculates an arithmetic expression ~ A calculator | expression/expr/input/query:expr | What is {0}? ~ Calculate {0}. ~ Compute {0} ~ How much is {0}? ~ Evaluate {0}
search web_search search_web google lookup find | Search the web. ~ Searches the internet for information. ~ Find pages | query/q/text/search_query/keywords:words | Search for {0}. ~ Search the web for {0} ~ Look up {0}. ~ Find {0} on the web. ~ What is {0}? ~ Find information about {0}
get_user find_user lookup_user get_customer user_info | Get a user by name. ~ Look up a customer ~ Information about a user | name/user/username/customer_name:name | Who is the user {0}? ~ Look up the user {0}. ~ Find the customer {0}. ~ Get information about {0} ~ What do we know about {0}?
get_order order_status track_order lookup_order | Get the status of an order. ~ Track an order ~ Where an order is | order_id/id/order/number:code | Where is my order {0}? ~ What is the status of order {0}? ~ Track order {0}. ~ Has order {0} been sent?
get_order_status get_ticket get_invoice | Look up by number. ~ Status by id | id/order_id/ticket_id/number:int | What is the status of {0}? ~ Look up number {0}. ~ Where is order {0}? ~ Show me invoice {0}
get_balance customer_balance account_balance balance | Get the balance of an account. ~ Returns the customer's current account balance. | account/name/customer/account_id:name | What is the balance of {0}? ~ How much money does {0} have? ~ What is the balance of the account {0}?
get_stock_price stock_price get_price quote | Get the price of a stock. ~ Current stock price ~ The price of a share | symbol/ticker/stock:code | What is the stock price of {0}? ~ How much is a share of {0}? ~ Price of {0}? ~ What does {0} trade at?
get_product_price price_of product_info | Get the price of a product. ~ Price of an article in the shop | product/item/name/article:word | How much does the {0} cost? ~ What is the price of the {0}? ~ How much is a {0}?
send_email email send_mail send_message | Send an email. ~ Send a message to somebody | to/recipient/address:email subject/text/body/message:words | Send an email to {0}: {1} ~ Write to {0}: {1} ~ Send {0} the message {1} ~ Email {0} that {1}
get_distance distance | The distance between two cities. ~ Distance from one place to another | origin/from_city/start/a:city destination/to_city/end/b:city | How far is it from {0} to {1}? ~ What is the distance from {0} to {1}? ~ Distance between {0} and {1}?
book_flight find_flights search_flights flights | Find flights. ~ Search flights between cities | origin/from_city/departure:city destination/to_city/arrival:city date/day:date | Find a flight from {0} to {1} on {2}. ~ I want to fly from {0} to {1} on {2}. ~ Flights from {0} to {1}, {2}
book_hotel find_hotel book_room hotels | Book a hotel. ~ Find a hotel in a city | city/location:city nights/days/n:int | Book a hotel in {0} for {1} nights. ~ I need a room in {0} for {1} nights ~ Find a hotel in {0}, {1} nights
read_file open_file cat get_file | Read a file. ~ Returns the content of a file ~ Read a file from disk | path/file/filename/file_path:path | Read the file {0}. ~ What is in {0}? ~ Show me {0}. ~ Open {0} ~ What does the file {0} contain?
list_files list_directory ls | List the files of a directory. ~ Files in a folder | path/directory/folder:word | Which files are in {0}? ~ List the files in {0}. ~ What is in the folder {0}?
translate translate_text | Translate a text. ~ Translates text to another language | text/sentence/input:words language/target/to:lang | Translate {0} to {1}. ~ How do you say {0} in {1}? ~ Translate into {1}: {0}
get_capital capital_of country_capital | Get the capital of a country. ~ The capital city of a country | country/name/country_name:city | What is the capital of {0}? ~ Capital of {0}? ~ Which city is the capital of {0}? ~ capital of {0}
get_population population | Get the population of a place. ~ How many people live somewhere | place/city/country:city | How many people live in {0}? ~ What is the population of {0}? ~ Population of {0}?
create_task add_todo add_task create_reminder remind | Add a task to the list. ~ Creates a reminder ~ Remember something to do | title/task/text/name:words | Remind me of {0}. ~ Add {0} to my list. ~ Create a task: {0} ~ I have to do {0}
set_timer timer start_timer | Start a timer. ~ Set a timer in minutes | minutes/duration/seconds/n:int | Set a timer for {0} minutes. ~ Start a timer of {0} ~ Wake me in {0} minutes
set_light light_switch set_lamp | Switch a light. ~ Turns a lamp on or off | room/place/name:word state/mode:enum4 | Turn the light in the {0} {1}. ~ Switch {1} the lamp in the {0}. ~ Light {1} in the {0}, please.
roll_dice roll_die throw_dice | Roll a six-sided die and return the result. ~ Roll a die. ~ Throws dice | | Roll the dice. ~ Roll a die ~ Throw the dice for me. ~ My guess is {int} ~ I say {int}. ~ Please roll the dice
get_player_name player_name whoami get_my_name | Get the player's name. ~ The name of the user | | What is my name? ~ Who am I? ~ Who is the player? ~ Tell me my name.
get_date today current_date get_today now | Get the date of today. ~ Current date and time | | What day is it today? ~ What is the date? ~ Which day is it? ~ What time is it? ~ What is today's date?
get_location my_location where_am_i | Get the location of the user. ~ Where the user is | | Where am I? ~ What is my location? ~ In which city am I?
get_lat_lng geocode get_coordinates locate | Get the latitude and longitude of a location. ~ Coordinates of a place | location_description/place/address/location:city | What are the coordinates of {0}? ~ Where is {0}? ~ Where on the map is {0}? ~ Find {0} on the map.
convert_currency exchange currency convert | Convert an amount of money. ~ Currency exchange | amount/value:num to/target/currency:cur | How much is {0} dollars in {1}? ~ Convert {0} dollars to {1}. ~ What are {0} dollars in {1}?
run_sql sql_query query_database query | Run a query on the database. ~ SQL query | table/name:word | How many rows has the table {0}? ~ Show me the table {0}. ~ What is in the table {0}?
get_definition define dictionary define_word | The definition of a word. ~ Look a word up in the dictionary | word/term/text:word | What does {0} mean? ~ Define {0}. ~ What is the meaning of {0}? ~ What is a {0}?
get_recipe recipe find_recipe | Get a recipe. ~ Find a recipe for a dish | dish/food/name:word | How do I cook {0}? ~ Find a recipe for {0}. ~ I want to cook {0}
get_news news headlines | Get the news about a topic. ~ News articles | topic/subject/query:word | What is new about {0}? ~ News about {0}? ~ Show me the news on {0}
fetch_url fetch get_page open_url | Fetch a web page. ~ Download a URL | url/address/link:url | Open {0} ~ What is on {0}? ~ Fetch {0} ~ Summarise the page {0}
square_root sqrt factorial is_prime fibonacci | Compute it of a number. ~ A function of n | n/x/number:int | What is the square root of {0}? ~ Is {0} prime? ~ What is the factorial of {0}? ~ Compute it for {0}
""".strip().splitlines()
LANGS, CURRENCIES = demo_other.TONGUES, "euros pounds yen francs EUR GBP JPY CHF USD kroner".split()
DOMAINS = [[x.strip() for x in l.split(" | ")] for l in (" " + l.replace(" | | ", " |  | ") + " " for l in DOMAINS)]


def value(rng, kind):
    if kind == "lang":
        return rng.choice(LANGS)
    if kind == "cur":
        return rng.choice(CURRENCIES)
    return VALUES[kind](rng)


def parameter(name, kind, required=True, enum=None):
    return {"name": name, "kind": kind, "required": required, "enum": enum}


def known(rng):
    """A tool that people write, with a question that it answers: (name, description, parameters, arguments, question)."""
    names, descriptions, params, questions = rng.choice(DOMAINS)
    ps, args, said = [], {}, []
    for p in params.split():
        n, kind = p.split(":")
        n = rng.choice(n.split("/"))
        enum = UNITS[int(kind[4:])] if kind.startswith("enum") else None
        v = rng.choice(enum) if enum else value(rng, kind)
        ps.append(parameter(n, kind, True, enum))
        args[n] = v
        said.append(v)
    q = rng.choice(questions.split(" ~ ")).strip().replace("{int}", str(integer(rng))).format(*said)
    if rng.random() < 0.15 and not any(p["name"] == "unit" for p in ps):
        ps.append(parameter(*rng.choice([("unit", "enum", False, UNITS[0]), ("units", "enum", False, UNITS[1]), ("limit", "int", False), ("verbose", "bool", False)])))
    return rng.choice(names.split()), rng.choice(descriptions.split(" ~ ")).strip(), ps, args, q


def invented(rng):
    """A tool that nobody has written, with a question that names what it is for."""
    thing, about = word(rng), word(rng)
    verb = rng.choice("get find lookup fetch show check read query".split())
    n = rng.choice([1, 1, 1, 2])
    ps, args, said = [], {}, []
    for _ in range(n):
        kind = rng.choice("name city int num word word code date".split())
        p = rng.choice([about, kind if kind not in TYPES else "n", made_up(rng), about + "_name", about + "_id", "id", "name", "value", "key", "input"])
        if p in args:
            continue
        ps.append(parameter(p, kind))
        args[p] = value(rng, kind)
        said.append(str(args[p]))
    who = rng.choice([" and ", " with ", ", "]).join(said)
    q = rng.choice(["What is the {t} of {w}?", "What is the {t} of the {a} {w}?", "Tell me the {t} of {w}.", "{V} the {t} of {w}.", "{V} the {t} for {w}", "Which {t} has {w}?", "Which {t} has the {a} {w}?",
                    "I need the {t} of {w}.", "{t} of {w}?", "Can you {v} the {t} of {w}?", "How much {t} has {w}?", "Use the {t} tool for {w}."]).format(t=thing, a=about, w=who, v=verb, V=verb.capitalize())
    called = rng.choice([verb + "_" + thing, thing, about + "_" + thing, verb + "_" + about + "_" + thing, "get" + thing.capitalize(), verb + thing.capitalize()])
    return called, rng.choice(["%s the %s of a %s." % (verb.capitalize(), thing, about), "The %s of a %s" % (thing, about), "Returns the %s for the given %s." % (thing, about), "%s %s" % (verb, thing), ""]), ps, args, q


FIELDS = """
name/full_name/user_name/person:name | {v} | My name is {v}. | I am {v}. | Name: {v} | {v} is here. | Her name is {v}. | called {v}
age/years/user_age:int | {v} years old | aged {v} | I am {v} years old. | Age: {v} | He is {v}. | she turned {v}
city/town/location/home:city | from {v} | I live in {v}. | City: {v} | {v} is the city. | lives in {v}
country/nation:city | in {v} | Country: {v} | The country is {v}. | in the country {v}
email/mail/email_address:email | Mail: {v} | Write to {v}. | Email: {v} | {v} is the address.
price/cost/amount/total:price | It costs {v}. | Price: {v} | for {v} dollars | The total is {v}.
product/item/article:word | a {v} | Product: {v} | I bought the {v}. | The item is {v}.
quantity/count/number/items:int | {v} pieces | {v} of them | Quantity: {v} | There are {v}.
date/day/birthday/when:date | on {v} | Date: {v} | It was {v}. | The day is {v}.
job/role/profession/occupation:word | works as a {v} | Job: {v} | The role is {v}. | I am a {v}.
title/subject/topic:words | about {v} | Title: {v} | The title is {v}. | called {v}
company/employer/team:name | works for {v} | Company: {v} | at the company {v} | The team is {v}.
id/code/reference/order_id:code | the number {v} | ID: {v} | Order {v} | with the code {v}
color/colour:word | The color is {v}. | Color: {v} | coloured {v}
year/founded:int | in the year {v} | Year: {v} | since {v}
active/member/paid/block_card:bool | Active: {v} | member: {v} | paid: {v}
score/rating/risk/height:num | Score: {v} | a rating of {v} | It is {v} high.
label/sentiment/priority/status:enum | It is {v}. | Status: {v} | rated {v} | {v}, I think.
""".strip().splitlines()
FIELDS = [[x.strip() for x in l.split(" | ")] for l in FIELDS]
CLASSES = "User Person UserInfo Customer UserDetail Order Product Invoice Event Item Contact CityLocation Answer Result Character Book Movie Record Profile Extract".split()


def record(rng):
    """Fields, and a text that says each: (parameters, values, text)."""
    rows = rng.sample(FIELDS, rng.choice([1, 2, 2, 2, 3, 3, 4]))
    if rng.random() < 0.25:
        rows = FIELDS[:2]
    ps, vs, said = [], {}, []
    for row in rows:
        names, kind = row[0].split(":")
        n = rng.choice(names.split("/"))
        enum = rng.choice(UNITS) if kind == "enum" else None
        v = rng.choice(enum) if enum else value(rng, kind)
        ps.append(parameter(n, kind, True, enum))
        vs[n] = v
        said.append(rng.choice(row[1:]).format(v=json.dumps(v) if kind == "bool" else v))
    if set(vs) & {"name", "user_name"} and set(vs) & {"age", "user_age"} and len(vs) == 2 and rng.random() < 0.7:
        a, b = vs.values()
        said = [rng.choice(["%s is %s years old.", "%s is %s.", "%s is %s years old", "Extract: %s is %s years old.", "Extract %s is %s years old.", "%s, %s", "%s, aged %s", "Meet %s, who is %s years old.", "My name is %s and I am %s."]) % (a, b)]
    order = list(range(len(said)))
    if rng.random() < 0.4:
        rng.shuffle(order)
    text = rng.choice([" ", " ", ", ", "; ", "\n"]).join(said[i] for i in order)
    if rng.random() < 0.1:
        text = words(rng) + ". " + text
    return ps, vs, text


# --- as the chat template has it --------------------------------------------------------------------------------------------

def schema(p):
    s = {"type": TYPES.get(p["kind"], "string")}
    return {**s, "enum": p["enum"]} if p["enum"] else s


def tool(name, description, ps):
    """In the form of requests."""
    return {"type": "function", "function": {"name": name, "description": description, "parameters": {
        "type": "object", "properties": {p["name"]: schema(p) for p in ps}, "required": [p["name"] for p in ps if p["required"]]}}}


def line(t):
    f = t["function"]
    required = f["parameters"].get("required", [])
    kind = lambda s: "|".join(s["enum"]) if "enum" in s else s["type"]
    args = ", ".join(n + ("" if n in required else "?") + ": " + kind(s) for n, s in f["parameters"]["properties"].items())
    return '%s(%s) %s -> "%s"\n' % (f["name"], args, f["description"], f["name"])


def call(name, args):
    return "<tool_call>\n" + json.dumps({"name": name, "arguments": args}, ensure_ascii=False) + "\n</tool_call>"


def turn(role, text):
    return "<|im_start|>" + role + "\n" + text + "<|im_end|>\n"


def said(text):
    """A turn of the model, of which its text is learnt."""
    return [("<|im_start|>assistant\n", False), (text + "<|im_end|>", True), ("\n", False)]


def result(rng, args):
    """What a tool answers, and its members if it is an object."""
    k = rng.random()
    if k < 0.3:
        sky = rng.choice("sunny rainy cloudy windy clear foggy snowy stormy".split())
        t = rng.choice(["%s, %d degrees" % (sky, integer(rng) % 40), "It is %s in %s." % (sky, next(iter(args.values()), city(rng))), "%d" % integer(rng), "The result is %s." % number(rng), "It's %d\u00b0C and %s." % (rng.randrange(40), sky), sky])
        return t, None
    if k < 0.45:
        return str(number(rng)), None
    if k < 0.7:
        return rng.choice([words, name, city, code, date, word, lambda r: words(r) + ", " + words(r) + ".", lambda r: words(r).capitalize() + "."])(rng), None
    if k < 0.75:
        return json.dumps([word(rng) for _ in range(rng.randrange(1, 5))]), None
    o = {rng.choice([word(rng), "temperature", "temp", "status", "result", "price", "name", "lat", "lng", "city", "country", "unit"]):
         rng.choice([integer, number, word, city, name, lambda r: r.random() < 0.5])(rng) for _ in range(rng.choice([1, 2, 2, 3, 4]))}
    return json.dumps(o, ensure_ascii=False) if rng.random() < 0.6 else json.dumps(o, ensure_ascii=False, separators=(",", ":")), o


def kind_of(v):
    return "bool" if isinstance(v, bool) else "int" if isinstance(v, int) else "num" if isinstance(v, float) else "word"


FINAL = [("final_result", "The final response which ends this conversation"), ("final_result", "The final response which ends this conversation"), ("final_answer", "Give the answer."),
         ("submit", "Submit the result."), ("finish", "The last answer.")]


def final(rng, args, answer, members):
    """A tool for the answer, and its arguments after a result."""
    if members and rng.random() < 0.7:
        take = dict(rng.sample(sorted(members.items()), rng.randrange(1, len(members) + 1)))
    else:
        take = {rng.choice("answer result response text summary reply output weather support_advice advice message".split()): answer}
    if args and rng.random() < 0.4:
        k = rng.choice(list(args))
        take = {k: args[k], **take}
    n, d = rng.choice(FINAL)
    return (n, d, [parameter(k, kind_of(v)) for k, v in take.items()]), take


def opening(rng):
    return [(turn("system", rng.choice(SYSTEMS)), False)] if rng.random() < 0.35 else []


def asks(q, tools):
    """The question, and the tools after it."""
    return [(turn("user", q) + turn("system", "Tools:\n" + "".join(line(t) for t in tools)), False)]


def others(rng, taken, most):
    out = []
    for _ in range(rng.randrange(most + 1)):
        n, d, ps, _, _ = known(rng) if rng.random() < 0.5 else invented(rng)
        if n not in taken:
            taken.add(n)
            out.append(tool(n, d, ps))
    return out


def with_tools(rng, other):
    """A question that one of the tools is for."""
    taken, before = set(), opening(rng)
    if rng.random() < 0.12:
        before += [(turn("user", x[0]) + turn("assistant", x[1]), False) for x in [other(rng)]]
    n, d, ps, args, q = known(rng) if rng.random() < 0.6 else invented(rng)
    taken.add(n)
    tools = [tool(n, d, ps)] + others(rng, taken, rng.choice([0, 3, 3]))
    rng.shuffle(tools)
    talk = said(call(n, args))
    answer, members = result(rng, args)
    talk.append((turn("tool", answer), False))
    if rng.random() < 0.2 and not taken & {n for n, _ in FINAL}:
        last, take = final(rng, args, answer, members)
        tools.append(tool(*last))
        talk += said(call(last[0], take))
    else:
        talk += said(answer)
    return before + asks(q, tools) + talk


def several(rng):
    """One question, and two calls of one tool."""
    while True:
        n, d, ps, args, q = known(rng)
        if len(args) == 1 and q.count(str(next(iter(args.values())))) == 1 and not q.startswith("{"):
            break
    k, v = next(iter(args.items()))
    w = value(rng, {p["name"]: p["kind"] for p in ps}[k])
    q = q.replace(str(v), rng.choice(["%s and %s", "%s and in %s", "%s and of %s"]) % (v, w))
    a, b = result(rng, {k: v})[0], result(rng, {k: w})[0]
    tools = [tool(n, d, ps)] + others(rng, {n}, 2)
    rng.shuffle(tools)
    return opening(rng) + asks(q, tools) + said(call(n, {k: v}) + "\n" + call(n, {k: w})) + [(turn("tool", a) + turn("tool", b), False)] + said(a + "\n" + b)


def extract(rng):
    """A text, and a tool that takes what it says."""
    ps, vs, text = record(rng)
    c = rng.choice(CLASSES) if rng.random() < 0.7 else rng.choice(["final_result", "extract", "save", made_up(rng).capitalize()])
    d = rng.choice(["Correctly extracted `%s` with all the required parameters with correct types" % c, "The final response which ends this conversation", "Extract the data.", "", "A " + c])
    tools = [tool(c, d, ps)] + others(rng, {c}, 1)
    return opening(rng) + asks(text, tools) + said(call(c, vs))


ASKS = ["""
            As a genius expert, your task is to understand the content and provide
            the parsed objects in json that match the following json_schema:


            %s

            Make sure to return an instance of the JSON, not the schema itself
""", "Answer in JSON that fits this schema: %s", "Always respond with a JSON object that's compatible with this schema:\n\n%s\n\nDon't include any text or Markdown fencing before or after.\n"]


def in_json(rng):
    """A text, and a prompt that has the schema of the answer."""
    ps, vs, text = record(rng)
    if len(ps) > 3:
        return extract(rng)
    titled = rng.random() < 0.7
    properties = {p["name"]: {**({"title": p["name"].replace("_", " ").title()} if titled else {}), **schema(p)} for p in ps}
    s = {"properties": properties, "required": [p["name"] for p in ps], **({"title": rng.choice(CLASSES)} if titled else {}), "type": "object"}
    form = rng.choice(ASKS)
    s = form % json.dumps(s, indent=2 if form is ASKS[0] else None)
    answer = json.dumps(vs, ensure_ascii=False)
    if rng.random() < 0.25:
        text, answer = text + "\n\nReturn the correct JSON response within a ```json codeblock. not the JSON_SCHEMA", "```json\n" + answer + "\n```"
    return [(turn("system", s) + turn("user", text), False)] + said(answer)


def listed(rng):
    """Words as a list in JSON, or such a list as words: what stands after a space, stands after a quote there."""
    ws = [str(value(rng, rng.choice("name city word word words code int num date email path expr".split()))) for _ in range(rng.randrange(3, 14))]
    text = " ".join(ws)
    array = json.dumps(text.split(" "))
    if rng.random() < 0.3:
        return [(turn("user", "Text: " + array), False)] + said("Words: " + text)
    return [(turn("user", "List: " + text), False)] + said(array)


def talk(rng, other):
    """One conversation; other(rng) makes a question that is not for tools, and its answer."""
    k = rng.random()
    if k < 0.07:
        out = listed(rng)
    elif k < 0.67:
        out = with_tools(rng, other)
    elif k < 0.70:
        out = several(rng)
    elif k < 0.83:
        out = extract(rng)
    elif k < 0.91:
        out = in_json(rng)
    else:
        q, a = other(rng)
        out = opening(rng) + asks(q, others(rng, set(), 3) or [tool(*known(rng)[:3])]) + said(a)
    return out + [("<|endoftext|>", True)]


# --- what is asked when it has been trained -----------------------------------------------------------------------------------

def simple(called, what, /, **types):
    return {"type": "function", "function": {"name": called, "description": what, "parameters": {
        "type": "object", "properties": {k: {"type": t} for k, t in types.items()}, "required": list(types)}}}


# tools, question, the call
CASES = [
    ([simple("get_weather", "Get the weather in a city.", city="string")], "What is the weather in Oslo?", ("get_weather", {"city": "Oslo"})),
    ([simple("get_weather", "Get weather for a given city.", city="string")], "what is the weather in sf", ("get_weather", {"city": "sf"})),
    ([simple("get_current_weather", "Current weather", location="string"), simple("get_news", "News", topic="string")], "How is the weather in Kyoto?", ("get_current_weather", {"location": "Kyoto"})),
    ([simple("tide_times", "Times of the tide at a harbour.", harbour="string")], "When is high tide in Brest?", ("tide_times", {"harbour": "Brest"})),
    ([simple("add", "Add two integers.", a="integer", b="integer"), simple("multiply", "Multiply two integers.", a="integer", b="integer")], "What is 17 times 23?", ("multiply", {"a": 17, "b": 23})),
    ([simple("add", "Add two integers.", a="integer", b="integer"), simple("multiply", "Multiply two integers.", a="integer", b="integer")], "What is 40 plus 2?", ("add", {"a": 40, "b": 2})),
    ([simple("roll_dice", "Roll a six-sided die and return the result."), simple("get_player_name", "Get the player's name.")], "My guess is 4", ("roll_dice", {})),
    ([simple("lookup_pet", "Look up a pet by its name.", pet_name="string")], "Find the pet Rex.", ("lookup_pet", {"pet_name": "Rex"})),
    ([simple("get_bus", "Departure of a bus line.", line="string"), simple("get_weather", "Weather", city="string")], "When does bus 42B leave?", ("get_bus", {"line": "42B"})),
    ([simple("parcel_status", "Where a parcel is.", parcel_id="string")], "Where is my parcel ZX81?", ("parcel_status", {"parcel_id": "ZX81"})),
    ([simple("User", "Correctly extracted `User` with all the required parameters with correct types", name="string", age="integer")], "Jason is 25 years old.", ("User", {"name": "Jason", "age": 25})),
    ([simple("final_result", "The final response which ends this conversation", city="string", country="string")], "City: Lyon, Country: France", ("final_result", {"city": "Lyon", "country": "France"})),
    ([simple("web_search", "Search the web.", query="string")], "Search for old sailing boats.", ("web_search", {"query": "old sailing boats"})),
    ([simple("get_capital", "Capital of a country", country="string"), simple("get_population", "Population", place="string")], "What is the capital of Peru?", ("get_capital", {"country": "Peru"})),
    ([simple("read_file", "Read a file.", path="string"), simple("list_files", "List a folder.", path="string")], "What is in notes.txt?", ("read_file", {"path": "notes.txt"})),
    ([simple("ferry_price", "Price of a ferry for cars.", island="string", cars="integer")], "What is the ferry price for 2 cars to Texel?", ("ferry_price", {"island": "Texel", "cars": 2})),
]
RESULTS = ["sunny, 12 degrees", "4", "{\"temperature\": 21, \"unit\": \"celsius\"}", "High tide is at 14:35.", "Rex is a brown dog of Mr. Wilson.", "It's always sunny in sf!", "391"]
