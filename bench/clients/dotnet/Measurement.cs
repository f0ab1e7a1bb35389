using System.Diagnostics;
using System.Diagnostics.Metrics;
using System.Text.Json;

namespace Tidemark.Bench;

/// One measurement, from its construction to End: the time it took, and what this process did meanwhile.
public sealed class Measurement : IDisposable
{
    readonly MeterListener meters = new();
    readonly TimeSpan processorTime;
    readonly long begun;
    readonly Lock counting = new();
    long requests, errors, unanswered;
    double waited;

    /// Tells the caller, who watches the servers, that it begins.
    public Measurement()
    {
        meters.InstrumentPublished = (instrument, listener) =>
        {
            if (instrument is { Meter.Name: "System.Net.Http", Name: "http.client.request.duration" }) listener.EnableMeasurementEvents(instrument);
        };
        meters.SetMeasurementEventCallback<double>(Count);
        meters.Start();
        Console.WriteLine("BEGIN");
        processorTime = Process.GetCurrentProcess().TotalProcessorTime;
        begun = Stopwatch.GetTimestamp();
    }

    public double Seconds => Stopwatch.GetElapsedTime(begun).TotalSeconds;

    /// Prints the result. `seconds` are those of the units, if they are not all that have passed.
    public void End(long units, double? seconds = null, IReadOnlyCollection<double>? latencies = null)
    {
        var measured = Seconds;
        var passed = seconds ?? measured;
        var processor = (Process.GetCurrentProcess().TotalProcessorTime - processorTime).TotalSeconds;
        meters.Dispose();
        double[] sorted = [.. (latencies ?? []).Order()];
        double? At(double share) => sorted.Length == 0 ? null : sorted[(int)(share * (sorted.Length - 1))] * 1000;
        lock (counting)
        {
            Console.WriteLine("RESULT " + JsonSerializer.Serialize(new
            {
                units, seconds = passed, measured_s = measured, p50_ms = At(0.5), p99_ms = At(0.99), client_cpu_s = processor, requests, errors, unanswered,
                request_ms = requests == 0 ? 0 : waited / requests * 1000,
            }));
        }
    }

    public void Dispose() => meters.Dispose();

    void Count(Instrument instrument, double seconds, ReadOnlySpan<KeyValuePair<string, object?>> tags, object? state)
    {
        int? status = null; // stays so if the client gave the request up
        foreach (var (name, value) in tags)
        {
            if (name == "http.response.status_code") status = (int)value!;
        }
        lock (counting)
        {
            ++requests;
            waited += seconds;
            if (status is null) ++unanswered;
            if (status >= 500) ++errors;
        }
    }
}
