-- What the workloads share: settings from the command line (name=value after --), a seed per thread, and the result as
-- one line of JSON that bench/run reads. wrk gives each thread a Lua state of its own; only done() sees them all.
local threads = {}

function setup(thread)
  thread:set("thread_number", #threads + 1)
  table.insert(threads, thread)
end

settings = {}

function init(args)
  for _, word in ipairs(args) do
    local name, value = word:match("^(%w+)=(.*)$")
    if name then settings[name] = value end
  end
  -- The same keys in the same order for each system, other ones for each thread and repeat.
  math.randomseed(tonumber(settings.seed) * 1000 + (thread_number or 0))
  prepare()
end

function entity_path(number)
  return string.format("%s(PartitionKey='p%d',RowKey='r%06d')?%s", settings.path, number % 100, number, settings.sas)
end

function sum(name)
  local total = 0
  for _, thread in ipairs(threads) do total = total + (thread:get(name) or 0) end
  return total
end

-- The unit of the rate: one answered request, unless a workload says otherwise.
function units(summary) return summary.requests end

function done(summary, latency)
  local e = summary.errors
  io.write(string.format(
    '\nRESULT {"units": %d, "requests": %d, "seconds": %.6f, "p50_ms": %.3f, "p99_ms": %.3f, "max_ms": %.3f, ' ..
    '"empty_gets": %d, "unexpected": %d, "errors": {"status": %d, "connect": %d, "read": %d, "write": %d, "timeout": %d}}\n',
    units(summary), summary.requests, summary.duration / 1e6, latency:percentile(50) / 1e3, latency:percentile(99) / 1e3,
    latency.max / 1e3, sum("empty_gets"), sum("unexpected"), e.status, e.connect, e.read, e.write, e.timeout))
end
