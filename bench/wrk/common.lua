-- Shared by the workloads: settings from the command line (name=value after --), a seed per thread, and the result as
-- one line of JSON that harness/wrk.py reads. wrk gives each thread a Lua state of its own; only done() sees them all.
local threads = {}

function setup(thread)
  thread:set("thread_number", #threads + 1)
  table.insert(threads, thread)
end

settings = {}
-- Globals, because done() reads them from each thread.
unexpected = 0

function init(args)
  for _, word in ipairs(args) do
    local name, value = word:match("^(%w+)=(.*)$")
    if name then settings[name] = value end
  end
  -- The same keys in the same order for each system, other ones for each thread and repeat.
  math.randomseed(tonumber(settings.seed) * 1000 + (thread_number or 0))
  prepare()
end

local letters = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

-- Text that does not compress to nothing, as a row of one letter would.
function random_text(length)
  local bytes = {}
  for i = 1, length do
    local at = math.random(#letters)
    bytes[i] = letters:sub(at, at)
  end
  return table.concat(bytes)
end

-- Some different bodies of 1 KiB.
function entity_bodies()
  local bodies = {}
  for i = 1, 16 do bodies[i] = '{"Data":"' .. random_text(1024 - 11) .. '"}' end
  return bodies
end

json_headers = { ["Content-Type"] = "application/json", ["Accept"] = "application/json;odata=nometadata" }

-- The same as keys_of in harness/azure.py.
function entity_keys(number)
  local partition = math.floor(number / tonumber(settings.perpartition))
  return string.format("p%06d", partition), string.format("r%09d", number)
end

function entity_path(number)
  local partition, row = entity_keys(number)
  return string.format("%s(PartitionKey='%s',RowKey='%s')?%s", settings.path, partition, row, settings.sas)
end

-- The same as blob_name in harness/azure.py.
function blob_path(number) return string.format("%s/b%08d?%s", settings.path, number, settings.sas) end

-- Returns the text before and after a placeholder: wrk.format is too slow to be called for each request.
function around(place, text)
  local from, to = text:find(place, 1, true)
  return text:sub(1, from - 1), text:sub(to + 1)
end

function sum(name)
  local total = 0
  for _, thread in ipairs(threads) do total = total + (thread:get(name) or 0) end
  return total
end

-- The unit of the rate: one answered request, unless a workload says otherwise.
function units(summary) return summary.requests end

-- The least size of an answer on average: one that is too short was no answer.
least_answer = 0

function done(summary, latency)
  local e = summary.errors
  local short = summary.bytes < summary.requests * least_answer and 1 or 0
  io.write(string.format(
    '\nRESULT {"units": %d, "requests": %d, "seconds": %.6f, "p50_ms": %.3f, "p99_ms": %.3f, "max_ms": %.3f, ' ..
    '"unexpected": %d, "errors": {"status": %d, "connect": %d, "read": %d, "write": %d, "timeout": %d}}\n',
    units(summary), summary.requests, summary.duration / 1e6, latency:percentile(50) / 1e3, latency:percentile(99) / 1e3,
    latency.max / 1e3, sum("unexpected") + short, e.status, e.connect, e.read, e.write, e.timeout))
end
