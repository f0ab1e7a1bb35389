using Microsoft.Extensions.Hosting;

namespace Tidemark.Tests.Silos;

/// A silo in a process of its own.
public static class ProcessOfASilo
{
    const string Ready = "ready";

    public static async Task<OtherProcess> Start(Silo silo)
    {
        var process = new OtherProcess(Program.SiloWord, silo.Cluster, silo.Name, $"{silo.Port}");
        await process.Says(Ready);
        return process;
    }

    /// What such a process does.
    public static async Task<int> Run(Silo silo)
    {
        using var host = silo.Build();
        await host.StartAsync();
        Console.WriteLine(Ready);
        await OtherProcess.EndOfInput();
        await host.StopAsync();
        return 0;
    }
}
