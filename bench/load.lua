-- For wrk: every request presents another credential of a file, in random order. Environment:
-- BENCH_CREDENTIALS (one a line), BENCH_HEADER (what stands before each), BENCH_METHOD, BENCH_PATH.
-- With the header "body", a line is the JSON body instead.
local requests, count = {}, 0

function init()
   local first = os.getenv("BENCH_METHOD") .. " " .. os.getenv("BENCH_PATH") .. " HTTP/1.1\r\nHost: localhost\r\n"
   local header = os.getenv("BENCH_HEADER")
   for line in io.lines(os.getenv("BENCH_CREDENTIALS")) do
      count = count + 1
      if header == "body" then
         local about = "Content-Type: application/json\r\nContent-Length: " .. #line .. "\r\n\r\n"
         requests[count] = first .. about .. line
      else
         requests[count] = first .. header .. line .. "\r\n\r\n"
      end
   end
   math.randomseed(os.time())
end

function request()
   return requests[math.random(count)]
end

function done(summary, latency)
   local errors = summary.errors
   io.write(string.format(
      '\n{"requests": %d, "seconds": %.6f, "p50_ms": %.4f, "p99_ms": %.4f, "refused": %d, "broken": %d}\n',
      summary.requests, summary.duration / 1e6, latency:percentile(50) / 1e3, latency:percentile(99) / 1e3,
      errors.status, errors.connect + errors.read + errors.write + errors.timeout))
end
