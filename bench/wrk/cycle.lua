-- Cycles of put, get, delete with 400-byte messages. wrk does not tell a script which connection a request or an answer
-- belongs to, so a thread keeps what it may do next: receipts to delete first, then as many gets as it has puts
-- acknowledged (a message is there for each of them), else another put. A cycle counts when its delete is acknowledged.
-- mode=bare: the bare server keeps no messages; the same three requests go round with a made-up receipt.
dofile("common.lua")

-- Globals, because done() reads them from each thread.
cycles, bare_server = 0, 0
local put, get, bare
local receipts, available, step = {}, 0, 0
local headers

local function encode(text)
  return (text:gsub("[^%w%-_%.~]", function(c) return string.format("%%%02X", c:byte()) end))
end

local function delete(id, receipt)
  local path = settings.path .. "/messages/" .. id .. "?popreceipt=" .. encode(receipt) .. "&" .. settings.sas
  return wrk.format("DELETE", path, headers)
end

function prepare()
  bare = settings.mode == "bare"
  bare_server = bare and 1 or 0
  headers = { ["Accept"] = "application/xml", ["x-ms-version"] = settings.version }
  local with_body = { ["Content-Type"] = "application/xml", ["Accept"] = "application/xml",
                      ["x-ms-version"] = settings.version }
  local body = "<QueueMessage><MessageText>" .. random_text(400) .. "</MessageText></QueueMessage>"
  put = wrk.format("POST", settings.path .. "/messages?" .. settings.sas, with_body, body)
  get = wrk.format("GET", settings.path .. "/messages?visibilitytimeout=3600&" .. settings.sas, headers)
  -- A function that is there costs wrk the parsing of headers and bodies: only where answers are needed.
  if not bare then response = on_response end
end

function request()
  if bare then
    step = step % 3 + 1
    if step == 1 then return put end
    if step == 2 then return get end
    return delete("7c3e244a-292d-4ae4-af89-51a19a23c470", "MjFOb3YyMDI2MTE6MzU6MTkxYWFl")
  end
  local held = table.remove(receipts)
  if held then return delete(held.id, held.receipt) end
  if available > 0 then
    available = available - 1
    return get
  end
  return put
end

function on_response(status, _, body)
  if status == 201 then
    available = available + 1
  elseif status == 204 then
    cycles = cycles + 1
  elseif status == 200 then
    local id = body:match("<MessageId>([^<]+)</MessageId>")
    local receipt = body:match("<PopReceipt>([^<]+)</PopReceipt>")
    if id and receipt then
      table.insert(receipts, { id = id, receipt = receipt })
    else
      empty_gets = empty_gets + 1
      available = available + 1
    end
  else
    unexpected = unexpected + 1
  end
end

function units(summary)
  if sum("bare_server") > 0 then return math.floor(summary.requests / 3) end
  return sum("cycles")
end
